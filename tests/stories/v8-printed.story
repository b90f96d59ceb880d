# V8, printed: a packet that comes twice is delivered twice.
nodes 2 overlay=vcube-printed ordering=causal
standing t 0 1
publish 0 t once
----
0 deliver 0:0@t "once"
0 -> 1 PUB 0:0@t

again 0 -> 1
settle
----
1 -> 0 ACK 0:0@t
1 deliver 0:0@t "once"
0 settle 0:0@t
1 -> 0 ACK 0:0@t
1 deliver 0:0@t "once"
