# Queues and parties: requests to the game with fixed names, and the reports that follow.

define waits
  open  $
  call  enter_queue ranked {"rating":1240}
  gets  MESSAGE matchmaker.enter {"queue":"ranked","properties":{"rating":1240}} room=0 request
  sends MESSAGE matchmaker.enter {"ticket":7} answer
  sees  answer call=enter_queue value={"ticket":7}
  sends MESSAGE matchmaker.queued {"queue":"ranked","ticket":7,"position":3,"estimate":12} reliable
  sees  matchmaker.queued queue=ranked position=3 estimate=12 value={"queue":"ranked","ticket":7,"position":3,"estimate":12}

define is_in_a_party
  open
  call  party_make
  gets  MESSAGE party.make null room=0 request
  sends MESSAGE party.make {"id":1,"code":"ABC234","leader":7,"members":[{"id":7,"name":"ann"}],"size":8,"room":"party:ABC234"} answer
  sees  answer call=party_make value={"id":1,"code":"ABC234","leader":7,"members":[{"id":7,"name":"ann"}],"size":8,"room":"party:ABC234"}

= A client enters a queue, is matched, and leaves the match
waits
sends MESSAGE matchmaker.queued {"queue":"ranked","ticket":7,"position":1} reliable
sees  matchmaker.queued queue=ranked position=1 estimate=null value={"queue":"ranked","ticket":7,"position":1}
sends MESSAGE matchmaker.matched {"queue":"ranked","ticket":7,"room":"duel:ranked1","team":2,"players":[{"id":7,"name":"ann","team":2},{"id":8,"name":"b\u00f6b","team":1}],"seconds":15} reliable
sees  matchmaker.matched room=duel:ranked1 team=2 seconds=15 value={"queue":"ranked","ticket":7,"room":"duel:ranked1","team":2,"players":[{"id":7,"name":"ann","team":2},{"id":8,"name":"böb","team":1}],"seconds":15}
sends JOINED room=5 name=duel:ranked1
sees  joined call=null room=duel:ranked1
sends MESSAGE matchmaker.ended {"queue":"ranked","ticket":7,"room":"duel:ranked1"} reliable
sees  matchmaker.ended room=duel:ranked1 value={"queue":"ranked","ticket":7,"room":"duel:ranked1"}

= A client enters a queue without properties
open
call  enter_queue quick
gets  MESSAGE matchmaker.enter room=0 request
sends MESSAGE matchmaker.enter {"ticket":1} answer
sees  answer call=enter_queue value={"ticket":1}

= A name of a queue is text, whatever it consists of
open
call  enter_queue "a \"b\" \\ {}"
gets  MESSAGE matchmaker.enter request
sends FAULT NoSuchQueue {"message":"there is no queue"} answer
sees  failed call=enter_queue code=NoSuchQueue value={"message":"there is no queue"}

= A client leaves the queue
waits
call  cancel
gets  MESSAGE matchmaker.cancel null room=0 request
sends MESSAGE matchmaker.cancelled {"queue":"ranked","ticket":7,"reason":"cancelled"} reliable
sends MESSAGE matchmaker.cancel true answer
sees  matchmaker.cancelled reason=cancelled value={"queue":"ranked","ticket":7,"reason":"cancelled"}
also  answer call=cancel value=true

= A client that has been matched cannot leave the queue
open
call  cancel
gets  MESSAGE matchmaker.cancel request
sends MESSAGE matchmaker.cancel false answer
sees  answer call=cancel value=false

= A ticket has waited too long
waits
sends MESSAGE matchmaker.timeout {"queue":"ranked","ticket":7} reliable
sees  matchmaker.timeout queue=ranked value={"queue":"ranked","ticket":7}

= A place in a queue survives a lost connection
waits token=3
resumed received=1
sends MESSAGE matchmaker.queued {"queue":"ranked","ticket":7,"position":2} reliable
sees  matchmaker.queued queue=ranked position=2

= A party is made, changes and ends
is_in_a_party
call  party_invite bob
gets  MESSAGE party.invite {"name":"bob"} room=0 request
sends MESSAGE party.invite true answer
sees  answer call=party_invite value=true
sends MESSAGE party.changed {"id":1,"code":"ABC234","leader":7,"members":[{"id":7,"name":"ann"},{"id":8,"name":"bob"}],"size":8,"room":"party:ABC234"} reliable
sees  party.changed code=ABC234 leader=7 value={"id":1,"code":"ABC234","leader":7,"members":[{"id":7,"name":"ann"},{"id":8,"name":"bob"}],"size":8,"room":"party:ABC234"}
call  party_promote 8
gets  MESSAGE party.promote {"id":8} room=0 request
sends MESSAGE party.promote true answer
sees  answer call=party_promote value=true
call  party_kick 8
gets  MESSAGE party.kick {"id":8} room=0 request
sends FAULT NotLeader {"message":"the leader of the party does this"} answer
sees  failed call=party_kick code=NotLeader value={"message":"the leader of the party does this"}
call  party_leave
gets  MESSAGE party.leave null room=0 request
sends MESSAGE party.left {"party":1,"reason":"left"} reliable
sends MESSAGE party.leave true answer
sees  party.left reason=left value={"party":1,"reason":"left"}
also  answer call=party_leave value=true

= An invited client joins by the code
open
sends MESSAGE party.invited {"party":1,"code":"ABC234","from":{"id":7,"name":"ann"}} reliable
sees  party.invited code=ABC234 value={"party":1,"code":"ABC234","from":{"id":7,"name":"ann"}}
call  party_join ABC234
gets  MESSAGE party.join {"code":"ABC234"} room=0 request
sends MESSAGE party.join {"id":1,"code":"ABC234","leader":7,"members":[{"id":7,"name":"ann"}],"size":8,"room":"party:ABC234"} answer
sees  answer call=party_join value={"id":1,"code":"ABC234","leader":7,"members":[{"id":7,"name":"ann"}],"size":8,"room":"party:ABC234"}

= Reports that lack fields, or have others, are reports all the same
open
sends MESSAGE matchmaker.queued {"position":-1,"estimate":1.9,"queue":5,"later":[]} reliable
c:  sees  matchmaker.queued queue="" position=0 estimate=1
-c: sees  matchmaker.queued queue=5 position=-1 estimate=1.9
