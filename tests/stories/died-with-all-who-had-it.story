# Node 1 delivers what 0 said, and answers it, while 2 joins; then both die, and with them what 0 said. What 1 said reached
# 2, which holds it back: it follows something that nobody has any more. When 0 is met in a new life, 2 tells its
# application of a gap, in the place of both.
nodes 4 overlay=vcube ordering=causal repair=10
standing t 0 1
publish 0 t a
settle
----
0 deliver 0:1@t "a"
0 -> 1 PUB 0:1@t
1 -> 0 ACK 0:1@t
1 deliver 0:1@t "a"
0 settle 0:1@t

subscribe 2 t
carry 2 -> 3
carry 2 -> 0
carry 3 -> 2
carry 0 -> 1
crash 0
----
2 -> 3 SUB 2:-1@t
2 -> 0 SUB 2:-1@t
3 -> 2 ACK 2:-1@t
0 -> 1 SUB 2:-1@t
1 -> 0 ACK 2:-1@t
2 -> 1 SUB 2:-1@t

publish 1 t b
carry 1 -> 2
crash 1
settle
----
1 spread 1:1@t following 1
1 deliver 1:1@t "b"
1 -> 2 PUB 1:1@t
2 -> 1 ACK 1:1@t
2 -> 3 STATE 2:0@t
3 -> 2 STATE 3:0@t
2 confirm t

restart 0
mend 0 2
----
2 -> 0 STATE 2:0@t

wake 2
settle
----
2 gap 0:1@t
2 gap 1:1@t
0 -> 2 STATE 0.1:0@t
