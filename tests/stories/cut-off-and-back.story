# Node 3 is cut off from all while 0 speaks. The message is settled among the others; when the links stand again, 3 tells
# where it stands, and gets what it missed.
nodes 4 overlay=vcube ordering=causal repair=10
standing t 0 1 2 3
cut 3 0
cut 3 1
cut 3 2
publish 0 t a
settle
----
0 deliver 0:1@t "a"
0 -> 1 PUB 0:1@t
0 -> 2 PUB 0:1@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "a"
2 -> 0 ACK 0:1@t
2 deliver 0:1@t "a"
0 settle 0:1@t

wake 0
wake 1
wake 2
settle
----
0 -> 2 STATE 0:0@t
1 -> 2 STATE 1:0@t
2 -> 0 STATE 2:0@t

mend 3 2
settle
----
3 -> 2 STATE 3:0@t
2 -> 3 STATE 2:0@t
2 -> 3 FILL 2:0@t
3 -> 2 STATE 3:0@t
2 -> 3 FILL 2:0@t
3 deliver 0:1@t "a"
