# Nodes keep one message only (keep=1). Node 2 misses two; the first of them nobody has any more: it is told as a gap.
nodes 3 overlay=vcube ordering=fifo repair=10 keep=1
standing t 0 1 2
cut 2 0
cut 2 1
publish 0 t a
publish 0 t b
settle
----
0 deliver 0:1@t "a"
0 -> 1 PUB 0:1@t
0 deliver 0:2@t "b"
0 -> 1 PUB 0:2@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "a"
0 settle 0:1@t
1 -> 0 ACK 0:2@t
1 deliver 0:2@t "b"
0 settle 0:2@t

wake 0
wake 1
settle
----
0 -> 1 STATE 0:0@t
1 -> 0 STATE 1:0@t

mend 2 0
mend 2 1
settle
----
2 -> 0 STATE 2:0@t
0 -> 2 STATE 0:0@t
2 -> 1 STATE 2:0@t
1 -> 2 STATE 1:0@t
0 -> 2 FILL 0:0@t
1 -> 2 FILL 1:0@t
2 -> 0 STATE 2:0@t
2 -> 1 STATE 2:0@t
0 -> 2 FILL 0:0@t
1 -> 2 FILL 1:0@t
2 -> 1 STATE 2:0@t
2 gap 0:1@t
2 deliver 0:2@t "b"
1 -> 2 FILL 1:0@t
