// A client of a Perigee server for C#: Unity, Godot, Mono and .NET. It is one file over libperigee.
// The runtime must find libperigee (libperigee.so, perigee.dll) among its native libraries.
//
//   using (var client = new Perigee.Client("localhost:7777", new Perigee.Options { Name = "ann" })) {
//     while (client.State != Perigee.State.Closed) {
//       foreach (var e in client.Poll(100)) {
//         if (e.Type == Perigee.EventType.Connected) client.Join("lobby");
//         if (e.Type == Perigee.EventType.Joined) client.Send(e.Room, "hello", "{\"x\":1}");
//       }
//     }
//   }
//
// include/perigee.h documents each call and each event, which have the same names and the same order
// here. Only one thread at a time may use a client. A call that returns a request ends in one event with the
// request's number. A call that cannot succeed raises a Perigee.Error, whose code is the reason.
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Perigee {

/// <summary>PerigeeCode. Codes from 0 on belong to the protocol, codes below 0 to the library.</summary>
public enum Code {
  Fault = -9, NotJoined = -8, BadArgument = -7, TooLarge = -6, Offline = -5, Over = -4, QueueFull = -3,
  Unreachable = -2, Timeout = -1, ConnectionClosed = 0, ConnectionReset, IdleTimeout, PingTimeout,
  PayloadTooLarge, Protocol, Kicked, Rejected, ServerFull, VersionMismatch, ProtocolHashMismatch,
  NoSuchRoom, NotInRoom, AlreadyInRoom, ChannelNotFound, ChannelTaken, RateLimited, HandshakeTimeout,
  Unsupported, Internal, Unauthorized, SlowConsumer, Replaced, RoomFull, Unavailable
}

/// <summary>PerigeeState.</summary>
public enum State { Connecting, Open, Reconnecting, Closing, Closed }

/// <summary>PerigeeTransport.</summary>
public enum Transport { Tcp, TcpAndUdp, Udp }

/// <summary>PerigeeSendFlags.</summary>
[Flags]
public enum SendFlags : uint { None = 0, Unreliable = 1, Critical = 2, High = 4, Low = 8 }

/// <summary>PerigeeLockstepFlags.</summary>
[Flags]
public enum LockstepFlags : uint { None = 0, Watches = 1, GivesSnapshots = 2, GivesInputs = 4 }

/// <summary>PerigeeEventType.</summary>
public enum EventType {
  Connected, Disconnected, Reconnecting, Resumed, Lost, Closed, Joined, Left, PeerJoined, PeerLeft,
  Relay, Message, Question, Answer, Packet, Failed, Error, Rooms, Pong, Synced, ChannelOpened,
  ChannelClosed, Redirect, UdpUp, UdpDown, Match, Turn, Pace, SnapshotWanted, TreeWanted, Desync,
  Waiting, MatchEnded, PeerRenamed, InputWanted, InputMissed, ToolChanged, RoomsFound, Restored,
  SignedIn, MatchmakerQueued, MatchmakerMatched, MatchmakerCancelled, MatchmakerTimeout, MatchmakerEnded,
  PartyChanged, PartyInvited, PartyLeft
}

/// <summary>PerigeeEntryKind.</summary>
public enum EntryKind { Input, InputMissing, InputRepeated, PlayerJoined, PlayerLeft }

/// <summary>PerigeeOptions. A field that you do not set has the library's default.</summary>
public sealed class Options {
  public string Name, Token;
  /// <summary>Signs in before connecting; SignUp makes an account first. The event SignedIn has the answer.</summary>
  public SignIn SignIn, SignUp;
  public ulong ProtocolHash;
  public Transport Transport;
  public uint? TimeoutMs, ReconnectFirstMs, ReconnectMaxMs, ReconnectForMs;
  public bool Reconnect = true, Rejoin = true;
}

/// <summary>Proves who the player is (docs/accounts.md). Set Name and Password, or Device, Jwt or CredentialsJson alone.</summary>
public sealed class SignIn {
  public string Name, Password, Device, Jwt;
  /// <summary>JSON for the game's on_authenticate.</summary>
  public string CredentialsJson;

  // Returns the JSON of SIGN_IN (docs/protocol.md, section 20).
  internal static string Json(string verb, SignIn how) {
    how = how ?? new SignIn();
    return "{\"do\":" + Quote(verb) + Field("name", how.Name) + Field("password", how.Password) +
           Field("device", how.Device) + Field("jwt", how.Jwt) +
           (how.CredentialsJson == null ? "" : ",\"credentials\":" + how.CredentialsJson) + "}";
  }

  static string Field(string name, string value) {
    return value == null ? "" : "," + Quote(name) + ":" + Quote(value);
  }

  static string Quote(string text) {
    var json = new StringBuilder("\"");
    foreach (char c in text) {
      if (c < ' ' || c == '"' || c == '\\') json.AppendFormat("\\u{0:x4}", (int)c);
      else json.Append(c);
    }
    return json.Append('"').ToString();
  }
}

/// <summary>PerigeeQuestion: the address of an answer. Keep it to answer later.</summary>
[StructLayout(LayoutKind.Sequential)]
public struct Question {
  internal uint session, room, peer;
  internal ushort channel, number, reference;
}

/// <summary>PerigeeEntry: one step of a turn.</summary>
public struct Entry {
  public EntryKind Kind;
  public byte Slot;
  public byte[] Data;
}

/// <summary>PerigeeRoomInfo.</summary>
public struct RoomInfo {
  public string Name;
  public uint Members;
}

/// <summary>PerigeeMatch: the properties of a match.</summary>
[StructLayout(LayoutKind.Sequential)]
public struct Match {
  public uint Id, Seed, Turn, TurnUs;
  public ushort SpeedPercent, MaxInput;
  public byte Slot, InputDelay, HashInterval;
  [MarshalAs(UnmanagedType.ByValArray, SizeConst = Client.SeatSize)] public byte[] Seat;
  public uint NextInput, LastInput;
}

/// <summary>PerigeeStats: figures for people.</summary>
[StructLayout(LayoutKind.Sequential)]
public struct Stats {
  public uint PingIntervalMs;
  public int HasDatagrams;
  public ulong RttUs, RttNewestUs, DatagramsSent, DatagramsReceived, DatagramsAcknowledged, DatagramsLost,
    PacketsSent, PacketsReceived;
}

/// <summary>A copy of a PerigeeEvent, which stays valid.</summary>
public sealed class Event {
  public EventType Type;
  public Code Code;
  public uint Request, Room, Peer, Count;
  public ulong TimeUs;
  public ushort Channel, Number;
  public bool IsQuestion, IsReliable, ByUdp, IsOdd;
  public Question Question;
  public string Name, Text;
  public byte[] Data;
  public RoomInfo[] Rooms;
  public Entry[] Entries;
  /// <summary>Data as UTF-8: the JSON text of a message with Number 0. With Code.Fault: the JSON text of the
  /// game's error; Name is the error's code.</summary>
  public string Json { get { return Encoding.UTF8.GetString(Data); } }
}

/// <summary>A call that cannot succeed.</summary>
public sealed class Error : Exception {
  public readonly Code Code;
  internal Error(Code code, string call) : base(call + ": " + Client.CodeName(code)) { Code = code; }
}

/// <summary>A PerigeeClient. Dispose frees it; Close ends the session before that.</summary>
public sealed class Client : IDisposable {
  public const byte Spectator = 255;
  public const int SeatSize = 16;

  // A client in C. A running call keeps it alive, and its finalizer frees a client that was not
  // disposed of.
  sealed class ClientHandle : SafeHandle {
    public ClientHandle() : base(IntPtr.Zero, true) {}
    public override bool IsInvalid { get { return handle == IntPtr.Zero; } }
    protected override bool ReleaseHandle() {
      perigee_free(handle);
      return true;
    }
  }

  readonly ClientHandle handle;

  /// <summary>Begins to connect; the event Connected or Closed reports the outcome.</summary>
  public Client(string address, Options options = null) {
    options = options ?? new Options();
    NativeOptions native;
    perigee_options_init(out native);
    IntPtr name = Utf8(options.Name), token = Utf8(options.Token),
           signIn = Utf8(options.SignUp != null ? SignIn.Json("sign_up", options.SignUp)
                         : options.SignIn != null ? SignIn.Json("sign_in", options.SignIn) : null);
    native.name = name;
    native.token = token;
    native.signIn = signIn;
    native.protocolHash = options.ProtocolHash;
    native.transport = options.Transport;
    native.timeoutMs = options.TimeoutMs ?? native.timeoutMs;
    native.reconnectFirstMs = options.ReconnectFirstMs ?? native.reconnectFirstMs;
    native.reconnectMaxMs = options.ReconnectMaxMs ?? native.reconnectMaxMs;
    native.reconnectForMs = options.ReconnectForMs ?? native.reconnectForMs;
    native.reconnect = options.Reconnect ? 1 : 0;
    native.rejoin = options.Rejoin ? 1 : 0;
    int code;
    handle = perigee_connect(Bytes(address), ref native, out code);
    Marshal.FreeHGlobal(name);
    Marshal.FreeHGlobal(token);
    Marshal.FreeHGlobal(signIn);
    if (handle.IsInvalid) throw new Error((Code)code, "Client(\"" + address + "\")");
  }

  public void Dispose() { handle.Dispose(); }

  public void Close() { perigee_close(Handle); }

  // --- The loop ---

  /// <summary>Does all due work. Waits up to `timeoutMs` for events (0: not at all), and yields
  /// the events.</summary>
  public IEnumerable<Event> Poll(int timeoutMs = 0) {
    perigee_poll(Handle, timeoutMs);
    for (Event next = NextEvent(); next != null; next = handle.IsClosed ? null : NextEvent())
      yield return next;
  }

  /// <summary>Returns the next waiting event, or null.</summary>
  public Event NextEvent() {
    IntPtr at = perigee_next_event(Handle);
    if (at == IntPtr.Zero) return null;
    var native = (NativeEvent)Marshal.PtrToStructure(at, typeof(NativeEvent));
    var next = new Event {
      Type = native.type, Code = (Code)native.code, Request = native.request, Room = native.room,
      Peer = native.peer, Count = native.count, TimeUs = native.timeUs, Channel = native.channel,
      Number = native.number, IsQuestion = native.isQuestion != 0,
      IsReliable = native.isReliable != 0, ByUdp = native.byUdp != 0, IsOdd = native.isOdd != 0,
      Question = native.question, Name = Text(native.name), Text = Text(native.text),
      Data = Copy(native.data, native.size),
      Rooms = Rooms(native), Entries = Entries(native),
    };
    GC.KeepAlive(this);  // the client in C owns the memory of the event until here
    return next;
  }

  static RoomInfo[] Rooms(NativeEvent e) {
    if (e.rooms == IntPtr.Zero) return new RoomInfo[0];
    var list = new RoomInfo[e.count];
    for (int i = 0; i < list.Length; i++) {
      var native = At<NativeRoomInfo>(e.rooms, i);
      list[i] = new RoomInfo { Name = Text(native.name), Members = native.members };
    }
    return list;
  }

  static Entry[] Entries(NativeEvent e) {
    if (e.entries == IntPtr.Zero) return new Entry[0];
    var list = new Entry[e.entryCount];
    for (int i = 0; i < list.Length; i++) {
      var native = At<NativeEntry>(e.entries, i);
      list[i] = new Entry { Kind = native.kind, Slot = native.slot, Data = Copy(native.data, native.size) };
    }
    return list;
  }

  // --- Rooms ---

  public uint Join(string name, uint timeoutMs = 0) {
    return Request(perigee_join(Handle, Bytes(name), timeoutMs), "Join");
  }
  /// <summary>Joins with options, the JSON of an object.</summary>
  public uint JoinWith(string name, string options, uint timeoutMs = 0) {
    return Request(perigee_join_with(Handle, Bytes(name), Bytes(options), timeoutMs), "JoinWith");
  }
  public uint Leave(uint room) { return Request(perigee_leave(Handle, room), "Leave"); }
  public uint ListRooms(uint timeoutMs = 0) {
    return Request(perigee_list_rooms(Handle, timeoutMs), "ListRooms");
  }
  /// <summary>Adds a way to sign in to the account. The event SignedIn has the answer in Data, as
  /// JSON.</summary>
  public uint Link(SignIn how, uint timeoutMs = 0) {
    return Request(perigee_sign_in(Handle, Bytes(SignIn.Json("link", how)), timeoutMs), "Link");
  }
  /// <summary>Ends this sign-in, on all connections that use its tokens. The event SignedIn answers, and the
  /// server then ends this client with Unauthorized.</summary>
  public uint SignOut(uint timeoutMs = 0) {
    return Request(perigee_sign_in(Handle, Bytes(SignIn.Json("sign_out", null)), timeoutMs), "SignOut");
  }
  /// <summary>Requests the rooms that match a query, which is JSON. The event RoomsFound has the rooms as JSON in
  /// Data.</summary>
  public uint QueryRooms(string query = "{}", uint timeoutMs = 0) {
    return Request(perigee_query_rooms(Handle, Bytes(query), timeoutMs), "QueryRooms");
  }
  public uint FindRoom(string name) { return perigee_find_room(Handle, Bytes(name)); }
  public string RoomName(uint room) { return OwnText(perigee_room_name(Handle, room)); }
  public string MemberName(uint room, uint peer) {
    return OwnText(perigee_member_name(Handle, room, peer));
  }
  /// <summary>Returns the peer ids of the other members of a room, in no particular order.</summary>
  public uint[] Members(uint room) {
    var list = new uint[perigee_member_count(Handle, room)];
    for (uint i = 0; i < list.Length; i++) list[i] = perigee_member(Handle, room, i);
    return list;
  }

  // --- Messages ---

  public void Send(uint room, string name, string json = null, SendFlags flags = SendFlags.None) {
    Check(perigee_send(Handle, room, Bytes(name), Bytes(json), flags), "Send");
  }
  public void Send(uint room, ushort number, byte[] data, SendFlags flags = SendFlags.None) {
    Check(perigee_send_bytes(Handle, room, number, data, Size(data), flags), "Send");
  }
  public uint Ask(uint room, string name, string json = null, uint timeoutMs = 0) {
    return Request(perigee_ask(Handle, room, Bytes(name), Bytes(json), timeoutMs), "Ask");
  }
  public uint Ask(uint room, ushort number, byte[] data, uint timeoutMs = 0) {
    return Request(perigee_ask_bytes(Handle, room, number, data, Size(data), timeoutMs), "Ask");
  }
  public void Answer(Question question, string name, string json = null) {
    Check(perigee_answer(Handle, ref question, Bytes(name), Bytes(json)), "Answer");
  }
  public void Answer(Question question, byte[] data) {
    Check(perigee_answer_bytes(Handle, ref question, data, Size(data)), "Answer");
  }
  public void Relay(uint room, byte[] data, SendFlags flags = SendFlags.None) {
    Check(perigee_relay(Handle, room, data, Size(data), flags), "Relay");
  }
  public void SendPacket(ushort channel, ushort number, byte[] data, SendFlags flags = SendFlags.None) {
    Check(perigee_send_packet(Handle, channel, number, data, Size(data), flags), "SendPacket");
  }
  public uint AskPacket(ushort channel, ushort number, byte[] data, uint timeoutMs = 0) {
    return Request(perigee_ask_packet(Handle, channel, number, data, Size(data), timeoutMs), "AskPacket");
  }
  public uint OpenChannel(string name, uint timeoutMs = 0) {
    return Request(perigee_open_channel(Handle, Bytes(name), timeoutMs), "OpenChannel");
  }
  public uint AddTool(string json, uint timeoutMs = 0) {
    return Request(perigee_add_tool(Handle, Bytes(json), timeoutMs), "AddTool");
  }
  public uint RemoveTool(string json, uint timeoutMs = 0) {
    return Request(perigee_remove_tool(Handle, Bytes(json), timeoutMs), "RemoveTool");
  }
  public void SendTo(ushort channel, uint peer, ushort number, byte[] data,
                     SendFlags flags = SendFlags.None) {
    Check(perigee_send_to(Handle, channel, peer, number, data, Size(data), flags), "SendTo");
  }
  public uint AskPeer(ushort channel, uint peer, ushort number, byte[] data, uint timeoutMs = 0) {
    return Request(perigee_ask_peer(Handle, channel, peer, number, data, Size(data), timeoutMs), "AskPeer");
  }
  public void CloseChannel(ushort channel) { Check(perigee_close_channel(Handle, channel), "CloseChannel"); }
  public uint Ping(uint timeoutMs = 0) { return Request(perigee_ping(Handle, timeoutMs), "Ping"); }
  public uint Sync(uint timeoutMs = 0) { return Request(perigee_sync(Handle, timeoutMs), "Sync"); }

  // --- Queues and parties ---

  /// <summary>Enters a queue; `properties` is the JSON of an object, or null.</summary>
  public uint MatchmakerEnter(string queue, string properties = null, uint timeoutMs = 0) {
    return Request(perigee_matchmaker_enter(Handle, Bytes(queue), Bytes(properties), timeoutMs), "MatchmakerEnter");
  }
  public uint MatchmakerCancel(uint timeoutMs = 0) {
    return Request(perigee_matchmaker_cancel(Handle, timeoutMs), "MatchmakerCancel");
  }
  public uint PartyMake(uint timeoutMs = 0) { return Request(perigee_party_make(Handle, timeoutMs), "PartyMake"); }
  public uint PartyInvite(string name, uint timeoutMs = 0) {
    return Request(perigee_party_invite(Handle, Bytes(name), timeoutMs), "PartyInvite");
  }
  public uint PartyJoin(string code, uint timeoutMs = 0) {
    return Request(perigee_party_join(Handle, Bytes(code), timeoutMs), "PartyJoin");
  }
  public uint PartyLeave(uint timeoutMs = 0) {
    return Request(perigee_party_leave(Handle, timeoutMs), "PartyLeave");
  }
  public uint PartyPromote(uint peer, uint timeoutMs = 0) {
    return Request(perigee_party_promote(Handle, peer, timeoutMs), "PartyPromote");
  }
  public uint PartyKick(uint peer, uint timeoutMs = 0) {
    return Request(perigee_party_kick(Handle, peer, timeoutMs), "PartyKick");
  }

  // --- Lockstep ---

  /// <summary>Takes part in the match of a room; `seat` comes from an earlier Match, or is
  /// null.</summary>
  public void LockstepEnter(uint room, LockstepFlags flags = LockstepFlags.None, byte[] seat = null) {
    if (seat != null && seat.Length != SeatSize) throw new Error(Code.BadArgument, "LockstepEnter");
    Check(perigee_lockstep_enter(Handle, room, flags, seat), "LockstepEnter");
  }
  public void LockstepExit(uint room) { Check(perigee_lockstep_exit(Handle, room), "LockstepExit"); }
  public Match LockstepMatch(uint room) {
    Match match;
    Check(perigee_lockstep_match(Handle, room, out match), "LockstepMatch");
    return match;
  }
  public void LockstepInput(uint room, byte[] data) {
    Check(perigee_lockstep_input(Handle, room, data, Size(data)), "LockstepInput");
  }
  /// <summary>Reports a simulated turn, or the state of a snapshot. Returns false if the turn is not the
  /// next one, for example a turn of an ended match.</summary>
  public bool LockstepDone(uint room, uint turn, uint hash) {
    int code = perigee_lockstep_done(Handle, room, turn, hash);
    if (code != (int)Code.Over) Check(code, "LockstepDone");
    return code == 0;
  }
  public void LockstepSnapshot(uint room, uint request, byte[] data) {
    Check(perigee_lockstep_snapshot(Handle, room, request, data, Size(data)), "LockstepSnapshot");
  }
  public void LockstepTree(uint room, uint turn, string json) {
    Check(perigee_lockstep_tree(Handle, room, turn, Bytes(json)), "LockstepTree");
  }

  // --- Queries ---

  public State State { get { return handle.IsClosed ? State.Closed : perigee_state(handle); } }
  public uint PeerId { get { return perigee_peer_id(Handle); } }
  public string Name { get { return OwnText(perigee_name(Handle)); } }
  public string Session { get { return OwnText(perigee_session(Handle)); } }
  /// <summary>The round-trip time in microseconds; -1 while unknown.</summary>
  public long LatencyUs { get { return perigee_latency_us(Handle); } }
  public Stats Stats {
    get {
      Stats stats;
      perigee_stats(Handle, out stats);
      return stats;
    }
  }
  public uint MaxPayload { get { return perigee_max_payload(Handle); } }
  public uint TickRate { get { return perigee_tick_rate(Handle); } }
  public ulong ServerTimeUs { get { return perigee_server_time_us(Handle); } }
  public uint Unconfirmed { get { return perigee_unconfirmed(Handle); } }
  public static ulong ClockUs { get { return perigee_clock_us(); } }
  public static uint Version { get { return perigee_version(); } }
  public static string CodeName(Code code) { return Text(perigee_code_name((int)code)); }

  // --- Conversions ---

  ClientHandle Handle {
    get {
      if (handle.IsClosed) throw new ObjectDisposedException("Perigee.Client");
      return handle;
    }
  }

  // Returns a copy of a text that the client in C owns, and keeps the client alive meanwhile.
  string OwnText(IntPtr text) {
    string copy = Text(text);
    GC.KeepAlive(this);
    return copy;
  }

  static void Check(int code, string call) {
    if (code < 0) throw new Error((Code)code, call);
  }

  static uint Request(int code, string call) {
    Check(code, call);
    return (uint)code;
  }

  // Returns a C string. Rejects a text that contains NUL, because C would cut the text there.
  static byte[] Bytes(string text) {
    if (text == null) return null;
    if (text.IndexOf('\0') >= 0) throw new ArgumentException("a text with U+0000 cannot be sent");
    return Encoding.UTF8.GetBytes(text + "\0");
  }

  // Returns a C string in memory that the garbage collector does not move; FreeHGlobal frees it.
  static IntPtr Utf8(string text) {
    if (text == null) return IntPtr.Zero;
    byte[] bytes = Bytes(text);
    IntPtr copy = Marshal.AllocHGlobal(bytes.Length);
    Marshal.Copy(bytes, 0, copy, bytes.Length);
    return copy;
  }

  static UIntPtr Size(byte[] data) { return (UIntPtr)(data == null ? 0 : data.Length); }

  static string Text(IntPtr text) {
    if (text == IntPtr.Zero) return null;
    int size = 0;
    while (Marshal.ReadByte(text, size) != 0) size++;
    return Encoding.UTF8.GetString(Copy(text, (UIntPtr)size));
  }

  static byte[] Copy(IntPtr data, UIntPtr size) {
    var copy = new byte[(int)size];
    if (copy.Length > 0) Marshal.Copy(data, copy, 0, copy.Length);
    return copy;
  }

  static T At<T>(IntPtr list, int index) {
    return (T)Marshal.PtrToStructure(
      new IntPtr(list.ToInt64() + (long)index * Marshal.SizeOf(typeof(T))), typeof(T));
  }

  // --- Declarations of the library, as in include/perigee.h ---

  [StructLayout(LayoutKind.Sequential)]
  struct NativeOptions {
    public IntPtr name, token;
    public ulong protocolHash;
    public Transport transport;
    public uint timeoutMs, reconnectFirstMs, reconnectMaxMs, reconnectForMs;
    public int reconnect, rejoin;
    public IntPtr signIn;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct NativeEvent {
    public EventType type;
    public int code;
    public uint request, room, peer, count;
    public ulong timeUs;
    public ushort channel, number;
    public int isQuestion, isReliable, byUdp;
    public Question question;
    public IntPtr name, text, data;
    public UIntPtr size;
    public IntPtr rooms, entries;
    public uint entryCount;
    public int isOdd;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct NativeRoomInfo {
    public IntPtr name;
    public uint members;
  }

  [StructLayout(LayoutKind.Sequential)]
  struct NativeEntry {
    public EntryKind kind;
    public byte slot;
    public IntPtr data;
    public UIntPtr size;
  }

  const string Library = "perigee";
  const CallingConvention C = CallingConvention.Cdecl;

  [DllImport(Library, CallingConvention = C)] static extern void perigee_options_init(out NativeOptions options);
  [DllImport(Library, CallingConvention = C)] static extern ClientHandle perigee_connect(byte[] address, ref NativeOptions options, out int code);
  [DllImport(Library, CallingConvention = C)] static extern void perigee_close(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern void perigee_free(IntPtr client);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_poll(ClientHandle client, int timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern IntPtr perigee_next_event(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_join(ClientHandle client, byte[] name, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_join_with(ClientHandle client, byte[] name, byte[] options, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_sign_in(ClientHandle client, byte[] json, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_query_rooms(ClientHandle client, byte[] query, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_leave(ClientHandle client, uint room);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_list_rooms(ClientHandle client, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_find_room(ClientHandle client, byte[] name);
  [DllImport(Library, CallingConvention = C)] static extern IntPtr perigee_room_name(ClientHandle client, uint room);
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_member_count(ClientHandle client, uint room);
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_member(ClientHandle client, uint room, uint index);
  [DllImport(Library, CallingConvention = C)] static extern IntPtr perigee_member_name(ClientHandle client, uint room, uint peer);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_send(ClientHandle client, uint room, byte[] name, byte[] json, SendFlags flags);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_send_bytes(ClientHandle client, uint room, ushort number, byte[] data, UIntPtr size, SendFlags flags);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_ask(ClientHandle client, uint room, byte[] name, byte[] json, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_ask_bytes(ClientHandle client, uint room, ushort number, byte[] data, UIntPtr size, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_answer(ClientHandle client, ref Question question, byte[] name, byte[] json);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_answer_bytes(ClientHandle client, ref Question question, byte[] data, UIntPtr size);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_relay(ClientHandle client, uint room, byte[] data, UIntPtr size, SendFlags flags);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_send_packet(ClientHandle client, ushort channel, ushort number, byte[] data, UIntPtr size, SendFlags flags);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_ask_packet(ClientHandle client, ushort channel, ushort number, byte[] data, UIntPtr size, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_open_channel(ClientHandle client, byte[] name, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_add_tool(ClientHandle client, byte[] json, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_remove_tool(ClientHandle client, byte[] json, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_send_to(ClientHandle client, ushort channel, uint peer, ushort number, byte[] data, UIntPtr size, SendFlags flags);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_ask_peer(ClientHandle client, ushort channel, uint peer, ushort number, byte[] data, UIntPtr size, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_close_channel(ClientHandle client, ushort channel);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_ping(ClientHandle client, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_sync(ClientHandle client, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_matchmaker_enter(ClientHandle client, byte[] queue, byte[] properties, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_matchmaker_cancel(ClientHandle client, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_party_make(ClientHandle client, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_party_invite(ClientHandle client, byte[] name, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_party_join(ClientHandle client, byte[] code, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_party_leave(ClientHandle client, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_party_promote(ClientHandle client, uint peer, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_party_kick(ClientHandle client, uint peer, uint timeoutMs);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_lockstep_enter(ClientHandle client, uint room, LockstepFlags flags, byte[] seat);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_lockstep_exit(ClientHandle client, uint room);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_lockstep_match(ClientHandle client, uint room, out Match match);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_lockstep_input(ClientHandle client, uint room, byte[] data, UIntPtr size);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_lockstep_done(ClientHandle client, uint room, uint turn, uint hash);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_lockstep_snapshot(ClientHandle client, uint room, uint request, byte[] data, UIntPtr size);
  [DllImport(Library, CallingConvention = C)] static extern int perigee_lockstep_tree(ClientHandle client, uint room, uint turn, byte[] json);
  [DllImport(Library, CallingConvention = C)] static extern State perigee_state(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_peer_id(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern IntPtr perigee_name(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern IntPtr perigee_session(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern long perigee_latency_us(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern void perigee_stats(ClientHandle client, out Stats stats);
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_max_payload(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_tick_rate(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern ulong perigee_server_time_us(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_unconfirmed(ClientHandle client);
  [DllImport(Library, CallingConvention = C)] static extern ulong perigee_clock_us();
  [DllImport(Library, CallingConvention = C)] static extern uint perigee_version();
  [DllImport(Library, CallingConvention = C)] static extern IntPtr perigee_code_name(int code);
}

}
