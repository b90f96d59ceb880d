# Subscribers that hold a message back for 20 at most. All have topics c and e; both are numbered at node 0. First and second
# are numbers 1 and 2 of c; third, on e, comes after them. At node 3 third is there before second, and first is missing.
nodes 8 overlay=vcube ordering=total desks=1 ttl=20
standing c 1 2 3 7
standing e 1 2 3 7
publish 1 c first
carry 1 -> 0
carry 0 -> 1
publish 2 c second
carry 2 -> 0
carry 0 -> 2
publish 7 e third
carry 7 -> 0
carry 0 -> 7
carry 7 -> 3
carry 2 -> 3
----
1 -> 0 ASK 1:1@c
0 -> 1 STAMP 1:1@c {c:1, e:0}
1 spread 1:1@c following 2
1 -> 3 PUB 1:1@c
1 -> 7 PUB 1:1@c
1 deliver 1:1@c "first"
2 -> 0 ASK 2:1@c
0 -> 2 STAMP 2:1@c {c:2, e:0}
2 spread 2:1@c following 2
2 -> 3 PUB 2:1@c
2 -> 1 PUB 2:1@c
2 -> 7 PUB 2:1@c
7 -> 0 ASK 7:1@e
0 -> 7 STAMP 7:1@e {c:2, e:1}
7 spread 7:1@e following 2
7 -> 3 PUB 7:1@e
3 -> 2 PUB 7:1@e
3 -> 1 PUB 7:1@e
3 -> 2 ACK 2:1@c

# Half of the time of third is over.
later 9
wake 3
----
3 -> 0 PULL 3:1@c {c:1}

# All of it is. Second goes before it, though its own time is not over, and the number of first is passed over.
later 9
wake 3
----
3 deliver 2:1@c "second"
3 deliver 7:1@e "third"

# First comes too late.
carry 1 -> 3
----
3 -> 2 PUB 1:1@c
3 deliver 1:1@c "first" out_of_order
