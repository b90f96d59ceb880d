# V1, printed: members 0, 5, 6. Node 4 subscribes; 0 hears it and publishes. Node 4 is now first in c(0,3), knows
# only itself, acts as a leaf and acknowledges: 5 and 6 never get the message.
nodes 8 overlay=vcube-printed ordering=causal
standing t 0 5 6
subscribe 4 t
carry 4 -> 0
----
4 -> 5 SUB 4:0@t
4 -> 6 SUB 4:0@t
4 -> 0 SUB 4:0@t
0 -> 1 SUB 4:0@t
0 -> 2 SUB 4:0@t

publish 0 t lost
----
0 deliver 0:0@t "lost"
0 -> 4 PUB 0:0@t

carry 0 -> 4
----
4 -> 0 ACK 0:0@t
4 deliver 0:0@t "lost"

settle
----
0 settle 0:0@t
1 -> 0 ACK 4:0@t
2 -> 3 SUB 4:0@t
5 -> 4 ACK 4:0@t
6 -> 7 SUB 4:0@t
3 -> 2 ACK 4:0@t
7 -> 6 ACK 4:0@t
2 -> 0 ACK 4:0@t
6 -> 4 ACK 4:0@t
0 -> 4 ACK 4:0@t
4 confirm t
