# T9, repaired. Topics c, e, s and w, in this rank, have their managers at nodes 0 to 3. Nodes 4 and 5 share c, s and w;
# nodes 6 and 7 share e and s. An event b on s is numbered, and on its way to c by way of e.
nodes 8 overlay=vcube ordering=total desks=4
standing c 4 5
standing e 6 7
standing s 4 5 6 7
standing w 4 5
publish 6 s b
carry 6 -> 2
----
6 -> 2 ASK 6:1@s
2 -> 1 CLIMB 6:1@s {s:1, w:0}

# An event on w follows. It stops at e, too, though e is not in its group, and so it cannot be at c before b: no ring.
publish 4 w later
carry 4 -> 3
carry 3 -> 2
carry 2 -> 1
carry 2 -> 1
----
4 -> 3 ASK 4:1@w
3 -> 2 CLIMB 4:1@w {w:1}
2 -> 1 CLIMB 4:1@w {s:1, w:1}
1 -> 0 CLIMB 6:1@s {e:0, s:1, w:0}
1 -> 0 CLIMB 4:1@w {s:1, w:1}

publish 4 c own
carry 4 -> 0
----
4 -> 0 ASK 4:1@c
0 -> 4 STAMP 4:1@c {c:1, s:0, w:0}

settle
----
0 -> 6 STAMP 6:1@s {c:1, e:0, s:1, w:0}
0 -> 2 TOP 6:1@s
4 spread 4:1@c following 3
4 -> 5 PUB 4:1@c
4 deliver 4:1@c "own"
0 -> 4 STAMP 4:1@w {c:1, s:1, w:1}
0 -> 3 TOP 4:1@w
5 -> 4 ACK 4:1@c
5 deliver 4:1@c "own"
6 spread 6:1@s following 4
6 -> 7 PUB 6:1@s
6 -> 4 PUB 6:1@s
6 deliver 6:1@s "b"
4 spread 4:1@w following 3
4 -> 5 PUB 4:1@w
4 settle 4:1@c
4 -> 5 PUB 6:1@s
4 deliver 6:1@s "b"
4 deliver 4:1@w "later"
7 -> 6 ACK 6:1@s
7 deliver 6:1@s "b"
5 -> 4 ACK 4:1@w
4 settle 4:1@w
5 -> 4 ACK 6:1@s
5 deliver 6:1@s "b"
5 deliver 4:1@w "later"
4 -> 6 ACK 6:1@s
6 settle 6:1@s
