# Nodes 0 and 2 are members. 2 is leaving and skips e; 3 joins and 2 has heard of it, 0 has not. 0 publishes d, which follows
# e; 2 passes it on to 3. Then both leave, 0 without ever having heard of 3. Only because 0 answers the SUB that reaches it
# afterwards with what it knew does 3 learn that e and d are older than its subscription.
nodes 4 overlay=vcube ordering=causal
standing x 0 2
publish 2 x f
unsubscribe 2 x
publish 0 x e
carry 0 -> 2
----
2 deliver 2:1@x "f"
2 -> 0 PUB 2:1@x
0 deliver 0:1@x "e"
0 -> 2 PUB 0:1@x
2 -> 0 ACK 0:1@x
2 skip 0:1@x

subscribe 3 x
carry 3 -> 2
publish 0 x d
carry 0 -> 2
----
3 -> 2 SUB 3:-1@x
3 -> 1 SUB 3:-1@x
2 -> 3 ACK 3:-1@x
0 spread 0:2@x following 1
0 deliver 0:2@x "d"
0 -> 2 PUB 0:2@x
2 -> 3 PUB 0:2@x
2 skip 0:2@x

carry 2 -> 3
carry 2 -> 3
----
3 -> 2 ACK 0:2@x

carry 3 -> 2
carry 2 -> 0
carry 2 -> 0
carry 2 -> 0
carry 0 -> 2
carry 2 -> 0
----
2 -> 0 ACK 0:2@x
0 -> 2 ACK 2:1@x
0 deliver 2:1@x "f"
0 settle 0:1@x
0 settle 0:2@x
2 settle 2:1@x
2 -> 3 UNS 2:-2@x
2 -> 0 UNS 2:-2@x
0 -> 2 ACK 2:-2@x

unsubscribe 0 x

settle
----
1 -> 0 SUB 3:-1@x
3 -> 2 ACK 2:-2@x
0 -> 1 ACK 3:-1@x
1 -> 3 ACK 3:-1@x
3 confirm x
3 skip 0:2@x
