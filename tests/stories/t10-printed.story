# T10, printed. Topics c, e, s and w, in this rank, have their managers at nodes 0 to 3. Node 4 subscribes to all of
# them, and shares each two neighbours of the ring c-e-s-w with another node, the diagonals with nobody. Every pair was
# ordered by a manager that knew of both, and the four orders make a ring: 4 delivers nothing. The others get what they
# want.
nodes 9 overlay=vcube ordering=total-printed desks=4
standing c 4 5 8
standing e 4 5 6
standing s 4 6 7
standing w 4 7 8
publish 6 s three
carry 6 -> 2
----
6 -> 2 ASK 6:1@s
2 -> 1 CLIMB 6:1@s {s:1, w:0}

publish 7 w four
carry 7 -> 3
carry 3 -> 2
carry 2 -> 0
----
7 -> 3 ASK 7:1@w
3 -> 2 CLIMB 7:1@w {w:1}
2 -> 0 CLIMB 7:1@w {s:1, w:1}
0 -> 7 STAMP 7:1@w {c:0, s:1, w:1}

publish 8 c one
carry 8 -> 0
----
8 -> 0 ASK 8:1@c
0 -> 8 STAMP 8:1@c {c:1, e:0, w:1}

publish 5 e two
carry 5 -> 1
----
5 -> 1 ASK 5:1@e
1 -> 0 CLIMB 5:1@e {e:1, s:0}

settle
----
0 -> 5 STAMP 5:1@e {c:1, e:1, s:0}
1 -> 6 STAMP 6:1@s {e:1, s:1, w:0}
7 spread 7:1@w following 3
7 -> 4 PUB 7:1@w
7 -> 8 PUB 7:1@w
8 spread 8:1@c following 3
8 -> 4 PUB 8:1@c
4 -> 7 ACK 7:1@w
4 -> 5 PUB 8:1@c
5 spread 5:1@e following 3
5 -> 4 PUB 5:1@e
5 -> 6 PUB 5:1@e
6 spread 6:1@s following 3
6 -> 7 PUB 6:1@s
6 -> 4 PUB 6:1@s
8 -> 7 ACK 7:1@w
8 deliver 7:1@w "four"
8 deliver 8:1@c "one"
4 -> 5 ACK 5:1@e
4 -> 6 ACK 6:1@s
5 -> 4 ACK 8:1@c
5 deliver 8:1@c "one"
5 deliver 5:1@e "two"
6 -> 5 ACK 5:1@e
6 deliver 5:1@e "two"
6 deliver 6:1@s "three"
7 -> 6 ACK 6:1@s
7 deliver 6:1@s "three"
7 deliver 7:1@w "four"
7 settle 7:1@w
4 -> 8 ACK 8:1@c
5 settle 5:1@e
6 settle 6:1@s
8 settle 8:1@c
