# Node 0 subscribes. Its SUB would reach 3 by way of 2, which has no link to 3; but 0 has one. So 0 asks every node in its
# reach where it stands, and is confirmed when all have said so: 3 takes part, is told, and says what it has delivered.
nodes 4 overlay=vcube ordering=causal repair=10
standing t 3
publish 3 t a
cut 2 3
subscribe 0 t
carry 0 -> 1
carry 0 -> 2
carry 1 -> 0
carry 2 -> 0
----
3 deliver 3:1@t "a"
3 settle 3:1@t
0 -> 1 SUB 0:-1@t
0 -> 2 SUB 0:-1@t
1 -> 0 ACK 0:-1@t
2 -> 0 ACK 0:-1@t
0 -> 1 STATE 0:0@t
0 -> 2 STATE 0:0@t
0 -> 3 STATE 0:0@t

publish 3 t b
----
3 spread 3:2@t following 1
3 deliver 3:2@t "b"
3 settle 3:2@t

settle
----
1 -> 0 STATE 1:0@t
2 -> 0 STATE 2:0@t
3 -> 0 STATE 3:0@t
0 -> 3 CUT 0:-2@t
3 -> 0 ACK 0:-2@t
0 confirm t
