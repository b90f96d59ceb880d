# Figure 4 of TNO. The managers of T1, T2 and T3 sit at nodes 0, 1 and 3; nodes 4, 5 and 6 are i, j and k. i publishes,
# because here publishers subscribe. T1 and T2 are a group, T3 is one of its own: e climbs from T2 to T1, and has both.
nodes 7 overlay=vcube ordering=total-printed desks=4
standing T1 4 5
standing T2 4 5 6
standing T3 4
publish 4 T2 e
settle
----
4 -> 1 ASK 4:1@T2
1 -> 0 CLIMB 4:1@T2 {T2:1}
0 -> 4 STAMP 4:1@T2 {T1:0, T2:1}
4 spread 4:1@T2 following 2
4 -> 5 PUB 4:1@T2
4 -> 6 PUB 4:1@T2
4 deliver 4:1@T2 "e"
5 -> 4 ACK 4:1@T2
5 deliver 4:1@T2 "e"
6 -> 4 ACK 4:1@T2
6 deliver 4:1@T2 "e"
4 settle 4:1@T2

# e' on T3 gets a single number.
publish 4 T3 e'
settle
----
4 -> 3 ASK 4:1@T3
3 -> 4 STAMP 4:1@T3 {T3:1}
4 spread 4:1@T3 following 1
4 settle 4:1@T3
4 deliver 4:1@T3 "e'"

# k subscribes to T3: first in the overlay, then from the manager of T3 up to that of T2. Each number that this takes is
# published as a dummy event, which nobody's application hears of.
subscribe 6 T3
settle
----
6 -> 4 SUB 6:-1@T3
6 -> 2 SUB 6:-1@T3
2 -> 3 SUB 6:-1@T3
2 -> 0 SUB 6:-1@T3
4 -> 5 SUB 6:-1@T3
0 -> 1 SUB 6:-1@T3
3 -> 2 ACK 6:-1@T3
5 -> 4 ACK 6:-1@T3
1 -> 0 ACK 6:-1@T3
4 -> 6 ACK 6:-1@T3
0 -> 2 ACK 6:-1@T3
2 -> 6 ACK 6:-1@T3
6 -> 4 CUT 6:-2@T3
4 -> 6 ACK 6:-2@T3
6 -> 3 ENROL 6:-1@T3
3 -> 1 ENROL 6:-1@T3 {T3:2}
1 -> 6 ADMIT 6:-1@T3 {T2:2, T3:2}
6 confirm T3
6 spread 6:1@T2 following 2
6 -> 4 PUB 6:1@T2
6 skip 6:1@T2
6 spread 6:1@T3 following 2
6 -> 4 PUB 6:1@T3
6 skip 6:1@T3
4 -> 5 PUB 6:1@T2
4 skip 6:1@T2
4 -> 6 ACK 6:1@T3
4 skip 6:1@T3
5 -> 4 ACK 6:1@T2
5 skip 6:1@T2
4 -> 6 ACK 6:1@T2
6 settle 6:1@T3
6 settle 6:1@T2

# i and k share T2 and T3 now: e'' climbs from T3 to T2, and T2's next event has three entries.
publish 4 T3 e''
settle
----
4 -> 3 ASK 4:2@T3
3 -> 1 CLIMB 4:2@T3 {T3:3}
1 -> 4 STAMP 4:2@T3 {T2:2, T3:3}
4 spread 4:2@T3 following 2
4 -> 6 PUB 4:2@T3
4 deliver 4:2@T3 "e''"
6 -> 4 ACK 4:2@T3
6 deliver 4:2@T3 "e''"
4 settle 4:2@T3

publish 4 T2 e'''
settle
----
4 -> 1 ASK 4:2@T2
1 -> 0 CLIMB 4:2@T2 {T2:3, T3:3}
0 -> 4 STAMP 4:2@T2 {T1:0, T2:3, T3:3}
4 spread 4:2@T2 following 3
4 -> 5 PUB 4:2@T2
4 -> 6 PUB 4:2@T2
4 deliver 4:2@T2 "e'''"
5 -> 4 ACK 4:2@T2
5 deliver 4:2@T2 "e'''"
6 -> 4 ACK 4:2@T2
6 deliver 4:2@T2 "e'''"
4 settle 4:2@T2
