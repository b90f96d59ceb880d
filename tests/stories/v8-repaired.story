# V8, repaired: it is acknowledged again and skipped.
nodes 2 overlay=vcube ordering=causal
standing t 0 1
publish 0 t once
----
0 deliver 0:1@t "once"
0 -> 1 PUB 0:1@t

again 0 -> 1
settle
----
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "once"
0 settle 0:1@t
1 -> 0 ACK 0:1@t
1 skip 0:1@t
