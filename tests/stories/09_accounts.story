# Signing in, links of names, and signing out.

define signed_in
  sends SIGNED_IN {"token":"T1","account":{"id":"a1","name":"ada","guest":false},"expires":9}
  gets  HELLO name=guest token=T1 resume=0
  sends WELCOME token=3
  sees  connected
  also  signed_in value={"token":"T1","account":{"id":"a1","name":"ada","guest":false},"expires":9}

define signs_in
  call  connect sign_in={"name":"ada","password":"difference"}
  gets  SIGN_IN {"do":"sign_in","name":"ada","password":"difference"} request=false
  signed_in

= A client signs in by name and password before HELLO
signs_in

= A client signs in by its device
call  connect sign_in={"device":"0123456789abcdef"}
gets  SIGN_IN {"do":"sign_in","device":"0123456789abcdef"}
signed_in

= A client makes an account
call  connect sign_up={"name":"ada","password":"difference"}
gets  SIGN_IN {"do":"sign_up","name":"ada","password":"difference"}
signed_in

= A client that the server does not let sign in has not connected
call  connect sign_in={"name":"ada","password":"difference"}
gets  SIGN_IN
sends ERROR Unauthorized "wrong name or password"
sees  failed call=connect code=Unauthorized text="/wrong name or password/"

= A sign-in that cannot be read
call  connect sign_in={"name":"ada","password":"difference"}
gets  SIGN_IN
sends SIGNED_IN "[not JSON"
sees  failed call=connect code=Protocol

= A client that comes back says its token, and does not sign in again
signs_in
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO token=T1 resume=3
sends WELCOME id=8 token=4
sees  lost

= A token that the server has renewed is said next time
signs_in
sends SIGNED_IN {"token":"T2","account":{"id":"a1","guest":false},"expires":99}
sees  signed_in value={"token":"T2","account":{"id":"a1","guest":false},"expires":99}
server cuts
sees  disconnected
sees  reconnecting
gets  HELLO token=T2 resume=3
sends WELCOME resumed=1 token=4
sees  resumed

= A guest links a name to its account
signs_in
call  link {"name":"ada","password":"difference"}
gets  SIGN_IN {"do":"link","name":"ada","password":"difference"} request
sends SIGNED_IN {"token":"T2","account":{"id":"a1","name":"ada"},"expires":99} answer
sees  signed_in call=link value={"token":"T2","account":{"id":"a1","name":"ada"},"expires":99}

= A name that is taken is not linked
signs_in
call  link {"name":"ada","password":"difference"}
gets  SIGN_IN
sends ERROR Rejected "that name is taken" answer
sees  failed call=link code=Rejected text="that name is taken"

= A client signs out, and the server ends it
signs_in
call  sign_out
gets  SIGN_IN {"do":"sign_out"} request
sends SIGNED_IN answer
sees  signed_in call=sign_out value={}
sends CLOSING Unauthorized "signed out"
server ends
sees  closed code=Unauthorized text="signed out"

= Other connections of a sign-in that has ended do not come back
signs_in
sends CLOSING Unauthorized "signed out"
server ends
sees  closed code=Unauthorized
