# V4, printed: node 2 has left but node 0 has not heard of it. Node 3 joins; node 2, no longer a subscriber, does not
# remember it. Node 0 gives node 2 the cluster of both: node 3, confirmed, never gets the message.
nodes 4 overlay=vcube-printed ordering=causal
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
2 -> 0 UNS 2:0@t
3 -> 2 SUB 3:0@t
3 -> 1 SUB 3:0@t
2 -> 3 ACK 3:0@t
1 -> 0 SUB 3:0@t
0 -> 1 ACK 3:0@t
1 -> 3 ACK 3:0@t
3 confirm t

publish 0 t lost
carry 0 -> 2
----
0 deliver 0:0@t "lost"
0 -> 2 PUB 0:0@t
2 -> 0 ACK 0:0@t

settle
----
0 -> 2 ACK 2:0@t
0 settle 0:0@t
