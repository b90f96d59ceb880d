# V4, repaired: the same. Node 2 refuses what it cannot serve, and node 0 gives the cluster to node 3 instead.
nodes 4 overlay=vcube ordering=causal
standing t 0 2
unsubscribe 2 t
subscribe 3 t
carry 3 -> 2
carry 3 -> 1
carry 1 -> 0
carry 2 -> 3
carry 0 -> 1
carry 1 -> 3
----
2 -> 0 UNS 2:-2@t
3 -> 2 SUB 3:-1@t
3 -> 1 SUB 3:-1@t
2 -> 3 ACK 3:-1@t
1 -> 0 SUB 3:-1@t
0 -> 1 ACK 3:-1@t
1 -> 3 ACK 3:-1@t
3 -> 0 CUT 3:-2@t

carry 3 -> 0
carry 0 -> 3
----
0 -> 3 ACK 3:-2@t
3 confirm t

publish 0 t kept
carry 0 -> 2
----
0 deliver 0:1@t "kept"
0 -> 2 PUB 0:1@t
2 -> 0 GONE 0:1@t
2 skip 0:1@t

settle
----
0 -> 2 ACK 2:-2@t
0 -> 3 PUB 0:1@t
3 -> 0 ACK 0:1@t
3 deliver 0:1@t "kept"
0 settle 0:1@t
