# The source dies in the middle of its wave: only 1 has the message. Nobody settles it, but all who live get it: 1 has
# something new, and tells its neighbours where it stands.
nodes 4 overlay=vcube ordering=causal repair=10
standing t 0 1 2 3
publish 0 t a
carry 0 -> 1
crash 0
settle
----
0 deliver 0:1@t "a"
0 -> 1 PUB 0:1@t
0 -> 2 PUB 0:1@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "a"

wake 1
settle
----
1 -> 3 STATE 1:0@t
3 -> 1 STATE 3:0@t
1 -> 3 FILL 1:0@t
3 deliver 0:1@t "a"

wake 3
settle
----
3 -> 1 STATE 3:0@t

wake 3
settle
----
3 -> 2 STATE 3:0@t
2 -> 3 STATE 2:0@t
3 -> 2 FILL 3:0@t
2 deliver 0:1@t "a"
