// The C# client's side of tests/e2e/csharp_client_spec.lua: plays one story against a real server
// and prints its steps. With "enums" or "sizes", prints the binding's numbers instead.
using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Perigee;

static class Live {
  static Client client;

  // Waits for an event of this type; earlier events of other types are dropped. Fails if the client
  // ends first.
  static Event Await(EventType type, uint request = 0) {
    while (true) {
      Event next = client.NextEvent();
      if (next == null) {
        if (client.State == State.Closed) throw new Exception("closed before " + type);
        foreach (Event e in client.Poll(5000)) { next = e; break; }
        if (next == null) throw new Exception("no " + type + " in time");
      }
      if (next.Type == EventType.Failed && next.Request == request && type != EventType.Failed)
        throw new Exception(next.Code + ": " + next.Text);
      if (next.Type == type && (request == 0 || next.Request == request)) return next;
    }
  }

  static void Say(string format, params object[] values) { Console.WriteLine(format, values); }

  static void Refuse(string what, Action call) {
    try { call(); Say("{0} was possible", what); }
    catch (Error error) { Say("{0}: {1}", what, error.Code); }
  }

  static void Enums() {
    foreach (var type in new[] { typeof(Code), typeof(State), typeof(Transport), typeof(SendFlags),
                                 typeof(LockstepFlags), typeof(EventType), typeof(EntryKind) })
      foreach (object value in Enum.GetValues(type)) Say("{0} {1} {2}", type.Name, value, Convert.ToInt64(value));
  }

  static void Sizes() {
    foreach (string name in new[] { "Options", "Event", "RoomInfo", "Entry" }) {
      Type type = typeof(Client).GetNestedType("Native" + name, BindingFlags.NonPublic);
      Say("{0} {1}", name, Marshal.SizeOf(type));
    }
    Say("Question {0}", Marshal.SizeOf(typeof(Question)));
    Say("Match {0}", Marshal.SizeOf(typeof(Match)));
    Say("Stats {0}", Marshal.SizeOf(typeof(Stats)));
  }

  // Runs in another thread, because the stack of this one would keep the client alive.
  static void Forget(string address) {
    int before = Directory.GetFiles("/proc/self/fd").Length, tries = 0;
    var thread = new Thread(() => new Client(address).Poll(0).Count());
    thread.Start();
    thread.Join();
    do {
      GC.Collect();
      GC.WaitForPendingFinalizers();
      Thread.Sleep(10);
    } while (Directory.GetFiles("/proc/self/fd").Length > before && ++tries < 500);
    Say("forgotten: freed {0}", tries < 500);
  }

  static void Lockstep(uint room) {
    client.LockstepEnter(room);
    Event match = Await(EventType.Match);
    Match facts = client.LockstepMatch(room);
    Say("match {0} slot {1} seat {2}", facts.Id > 0, facts.Slot, facts.Seat.Any(b => b != 0));
    uint turn = match.Count;
    client.LockstepInput(room, new byte[] { 7, 0, 9 });
    while (true) {
      Event next = Await(EventType.Turn);
      client.LockstepDone(room, next.Count, next.Count * 3);
      Entry mine = next.Entries.FirstOrDefault(e => e.Kind == EntryKind.Input);
      if (mine.Data == null) continue;
      Say("input {0} of slot {1}", BitConverter.ToString(mine.Data), mine.Slot);
      break;
    }
    Say("another turn {0}", client.LockstepDone(room, turn + 100000, 0));
    client.LockstepExit(room);
  }

  static void Accounts(string address) {
    var ada = new SignIn { Name = "ada", Password = "a \"word\" \\ of\nlines" };
    using (client = new Client(address, new Options { SignUp = ada }))
      Say("signed up {0}", Await(EventType.SignedIn).Json.Contains("\"ada\""));
    using (client = new Client(address, new Options { SignIn = ada })) {
      Await(EventType.Connected);
      uint link = client.Link(new SignIn { Device = "0123456789abcdef" });
      Say("linked {0}", Await(EventType.SignedIn, link).Json.Contains("\"ada\""));
      Await(EventType.SignedIn, client.SignOut());
      Say("signed out {0}", Await(EventType.Closed).Code);
    }
    using (client = new Client(address, new Options { SignIn = new SignIn { Name = "ada", Password = "guessed" } }))
      Say("refused {0}", Await(EventType.Closed).Code);
  }

  static int Main(string[] arguments) {
    if (arguments[0] == "enums") { Enums(); return 0; }
    if (arguments[0] == "sizes") { Sizes(); return 0; }
    Refuse("no address", () => new Client(""));
    using (client = new Client(arguments[0], new Options { Name = "Zoë", Token = "t", Reconnect = false })) {
      Await(EventType.Connected);
      Say("connected {0} as {1}, session {2}", client.State, client.Name, client.Session.Length);
      Refuse("message to no room", () => client.Send(99, "x"));
      uint room = Await(EventType.Joined, client.Join("duel:1")).Room;
      Say("joined {0} {1}", client.RoomName(room), client.FindRoom("duel:1") == room);
      Say("double {0}", Await(EventType.Answer, client.Ask(0, "double", "21")).Json);
      Say("wrong {0}", Await(EventType.Failed, client.Ask(0, "nothing")).Code);
      client.Send(room, "quiz");
      Event question = Await(EventType.Question);
      client.Answer(question.Question, question.Name, "\"grüße\"");
      Say("result {0}", Await(EventType.Message).Json);
      RoomInfo[] rooms = Await(EventType.Rooms, client.ListRooms()).Rooms;
      Say("rooms {0}", string.Join(" ", rooms.Select(r => r.Name + "=" + r.Members).OrderBy(r => r)));
      using (var other = new Client(arguments[0], new Options { Name = "bob" })) {
        Client first = client;
        client = other;
        Await(EventType.Connected);
        uint theirs = Await(EventType.Joined, client.Join("duel:1")).Room;
        Say("members {0}", string.Join(" ", client.Members(theirs).Select(p => client.MemberName(theirs, p))));
        first.Relay(room, new byte[] { 0, 255, 0, 1 });
        foreach (Event unused in first.Poll()) { }
        Event relay = Await(EventType.Relay);
        Say("relay {0} of {1}", BitConverter.ToString(relay.Data), relay.Name);
        client = first;
      }
      Event packet = Await(EventType.Answer, client.AskPacket(4, 1, Encoding.UTF8.GetBytes("abc")));
      Say("packet {0}", packet.Json);
      Say("ping interval {0}", client.Stats.PingIntervalMs);
      Say("pong {0}", Await(EventType.Pong, client.Ping()).TimeUs > 0);
      Lockstep(Await(EventType.Joined, client.Join("match:1")).Room);
      Await(EventType.Synced, client.Sync());
      client.Close();
      Event end = Await(EventType.Closed);
      Say("closed {0} {1}", end.Code, client.State);
    }
    Say("after the end {0}", client.State);
    Accounts(arguments[0]);
    Forget(arguments[0]);
    return 0;
  }
}
