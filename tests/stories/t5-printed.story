# T5, printed. An event that the overlay loses is a gap: whatever comes after it waits for ever.
nodes 3 overlay=vcube ordering=total-printed desks=1
standing t 1 2
publish 1 t a
carry 1 -> 0
carry 0 -> 1
lose 1 -> 2
----
1 -> 0 ASK 1:1@t
0 -> 1 STAMP 1:1@t {t:1}
1 spread 1:1@t following 1
1 -> 2 PUB 1:1@t
1 deliver 1:1@t "a"

publish 1 t b
settle
----
1 -> 0 ASK 1:2@t
0 -> 1 STAMP 1:2@t {t:2}
1 spread 1:2@t following 1
1 -> 2 PUB 1:2@t
1 deliver 1:2@t "b"
2 -> 1 ACK 1:2@t
