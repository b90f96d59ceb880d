# T10, repaired. Topics c, e, s and w, in this rank, have their managers at nodes 0 to 3. Node 4 subscribes to all of
# them, and shares each two neighbours of the ring c-e-s-w with another node, the diagonals with nobody. The
# groups are the printed ones. But on its way from s's manager to c's, w's timestamp now stops at e's manager, where it
# has nothing to fill in, behind s's. In the printed form it went past that, and c's manager heard of it before e's
# manager had seen s's. Here it comes later than one and two, and 4 delivers three, one, two and four.
nodes 9 overlay=vcube ordering=total desks=4
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
carry 2 -> 1
----
7 -> 3 ASK 7:1@w
3 -> 2 CLIMB 7:1@w {w:1}
2 -> 1 CLIMB 7:1@w {s:1, w:1}
1 -> 6 STAMP 6:1@s {e:0, s:1, w:0}
1 -> 2 TOP 6:1@s

publish 8 c one
carry 8 -> 0
----
8 -> 0 ASK 8:1@c
0 -> 8 STAMP 8:1@c {c:1, e:0, w:0}

publish 5 e two
carry 5 -> 1
----
5 -> 1 ASK 5:1@e
1 -> 0 CLIMB 5:1@e {e:1, s:1}

settle
----
0 -> 5 STAMP 5:1@e {c:1, e:1, s:1}
0 -> 1 TOP 5:1@e
1 -> 0 CLIMB 7:1@w {s:1, w:1}
6 spread 6:1@s following 3
6 -> 7 PUB 6:1@s
6 -> 4 PUB 6:1@s
6 deliver 6:1@s "three"
8 spread 8:1@c following 3
8 -> 4 PUB 8:1@c
8 deliver 8:1@c "one"
0 -> 7 STAMP 7:1@w {c:1, s:1, w:1}
0 -> 3 TOP 7:1@w
4 -> 6 ACK 6:1@s
4 deliver 6:1@s "three"
4 -> 5 PUB 8:1@c
4 deliver 8:1@c "one"
5 spread 5:1@e following 3
5 -> 4 PUB 5:1@e
5 -> 6 PUB 5:1@e
7 -> 6 ACK 6:1@s
7 deliver 6:1@s "three"
4 -> 5 ACK 5:1@e
4 deliver 5:1@e "two"
5 -> 4 ACK 8:1@c
5 deliver 8:1@c "one"
5 deliver 5:1@e "two"
6 -> 5 ACK 5:1@e
6 deliver 5:1@e "two"
6 settle 6:1@s
7 spread 7:1@w following 3
7 -> 4 PUB 7:1@w
7 -> 8 PUB 7:1@w
7 deliver 7:1@w "four"
4 -> 8 ACK 8:1@c
4 -> 7 ACK 7:1@w
4 deliver 7:1@w "four"
5 settle 5:1@e
8 -> 7 ACK 7:1@w
8 deliver 7:1@w "four"
7 settle 7:1@w
8 settle 8:1@c
