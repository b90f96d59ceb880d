# V3, printed: node 4 joins. Node 1 has heard of it and publishes a, on its way to 4. Node 2 delivers a, has not heard of
# 4 and publishes x1, then hears of 4 and publishes x2. Node 4 gets x2 first: it skips x1 by the `first_rec` rule and with
# it forgets that x1 followed a. It delivers x2 before a.
nodes 8 overlay=vcube-printed ordering=causal
standing t 1 2
subscribe 4 t
carry 4 -> 0
carry 0 -> 1
publish 1 t a
carry 1 -> 2
----
4 -> 5 SUB 4:0@t
4 -> 6 SUB 4:0@t
4 -> 0 SUB 4:0@t
0 -> 1 SUB 4:0@t
0 -> 2 SUB 4:0@t
1 -> 0 ACK 4:0@t
1 deliver 1:0@t "a"
1 -> 2 PUB 1:0@t
1 -> 4 PUB 1:0@t
2 -> 1 ACK 1:0@t
2 deliver 1:0@t "a"

publish 2 t x1
carry 2 -> 1
carry 2 -> 1
carry 1 -> 2
----
2 spread 2:0@t following 1
2 deliver 2:0@t "x1"
2 -> 1 PUB 2:0@t
1 -> 2 ACK 2:0@t
1 deliver 2:0@t "x1"
2 settle 2:0@t

carry 0 -> 2
publish 2 t x2
carry 2 -> 4
----
2 -> 3 SUB 4:0@t
2 spread 2:1@t following 1
2 deliver 2:1@t "x2"
2 -> 1 PUB 2:1@t
2 -> 4 PUB 2:1@t
4 -> 2 ACK 2:1@t
4 deliver 2:1@t "x2"

carry 1 -> 4
----
4 -> 1 ACK 1:0@t
4 deliver 1:0@t "a"
