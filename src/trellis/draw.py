"""Order-free randomness: a value is a function of what it is for.

Promises: the same seed, purpose and key give the same value on any machine, whatever was drawn before, in whatever
          order. So a new draw in one place moves nothing elsewhere, two protocols can be compared under the same
          luck, and a compiled engine needs only this arithmetic, not the order of the reference engine.
Source:   the finaliser of SplitMix64 (Steele, Lea, Flood 2014), chained over the key.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
LN2 = 0.6931471805599453

# What a draw is for. A number is never reused for another purpose: it would change every digest.
SUBSCRIBERS = 1  # which nodes subscribe
PUBLISHERS = 2  # which subscribers publish
PUBLISH_AT = 3  # when a publisher speaks
LATENCY = 4  # how long a packet is on the link
ROOT = 5  # which node is the root of a topic's single tree
SESSION = 6  # how long a subscriber stays
REPLACEMENT = 7  # who joins when somebody leaves
PUBLISHER = 8  # who speaks next
TOPIC = 9  # on which topic
THINK = 10  # how long a node thinks before it replies
BURST = 11  # who leaves and who joins in a burst
SWARM = 12  # the shape of a random schedule
INTERVAL = 13  # how long until a node speaks again
STARTER = 14  # who opens a discussion
NOTICE = 15  # how long until a broken link is noticed, and until it stands again
FAULTS = 16  # what goes wrong in a random schedule
DESK = 17  # at which desk the manager of a topic sits
INTEREST = 18  # which topics a client subscribes to
LOSS = 19  # whether a packet of an ordering is lost
FOLLOW_SAMPLE = 20  # who is in a sample of a follow graph
CROSSING = 21  # the shape of a random schedule of several topics
HASTE = 22  # how much of it a subscriber holds back
TABLE = 23  # whom a process knows of its group
SUPERTABLE = 24  # whom it knows of the group above
SELECTED = 25  # whether it tells those of a message
ELECTED = 26  # who speaks for a group of the hierarchical gossip
CHANNEL = 27  # whether a packet is lost on a channel that loses any
STILLBORN = 28  # who is dead from the beginning
FANOUT = 29  # whether a process knows one more or less
ANCHOR = 30  # which processes of a group everybody knows
PLACE = 31  # which nodes remember who subscribes to a topic
MARK = 32  # what stands for an entry in a checksum
PARTNER = 33  # with whom a process compares what it has
SHOWN = 34  # of whom it tells
REFRESH = 35  # whether it says again that it is there
ROUND = 36  # when its rounds begin
PASSED = 37  # to whom a search is passed on
RANK = 38  # how popular a topic of a tree is
BEAT = 39  # how long a round of a random schedule is
TREES = 40  # the shape of a random schedule of topics that include each other
PORTION = 41  # of which topics a process tells another, if there are too many for a packet
POSITION = 42  # where a node is on the ring
RENDEZVOUS = 43  # and where a topic is
SHORTCUT = 44  # how far a link of the small world goes
SAMPLED = 45  # with whom a node swaps its sample of all nodes
FRESH = 46  # which of those that are as fresh it keeps
SWAPPED = 47  # with whom it swaps its table
CONTACTS = 49  # whom it knows at the beginning
BUCKET = 50  # from which buckets of topics a node draws its own
BUCKET_TOPIC = 51  # which topics of a bucket it subscribes to
CONTACT = 52  # of whom a node hears first when it comes up in rounds
HEAT = 53  # how often is spoken on a topic, by its rank
RATED_TOPIC = 54  # on which topic the next message is
SPEAKER = 55  # which of its subscribers says it
TWINS = 56  # the shape of a scenario that both engines run
INTRODUCED = 60  # of which topic a relay tells clusters of each other


def mix(x: int) -> int:
    """SplitMix64's finaliser on a 64-bit word."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def draw(seed: int, purpose: int, *key: int) -> int:
    """A 64-bit word that depends on the seed, the purpose and the key, and on nothing else."""
    word = mix((seed + purpose * GOLDEN) & MASK)
    for part in key:
        word = mix(((word ^ (part & MASK)) + GOLDEN) & MASK)
    return word


def between(word: int, low: int, high: int) -> int:
    """An integer in [low, high]. The bias of the remainder is below 2**-32 for ranges up to 2**32."""
    return low + word % (high - low + 1)


def unit(word: int) -> float:
    """A float in [0, 1) with 53 bits."""
    return (word >> 11) * 2.0**-53


def ln(x: float) -> float:
    """The natural logarithm by additions, multiplications and divisions alone: libraries differ in the last bit."""
    mantissa, exponent = math.frexp(x)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square, power, total = s * s, s, 0.0
    for k in range(1, 80, 2):
        total += power / k
        power *= square
    return 2.0 * total + exponent * LN2


def exp(y: float) -> float:
    """The exponential function, in the same way."""
    whole = math.floor(y / LN2 + 0.5)
    rest = y - whole * LN2
    term, total = 1.0, 1.0
    for k in range(1, 20):
        term *= rest / k
        total += term
    return math.ldexp(total, whole)


def bell(word: int, mean: int, spread: int) -> int:
    """An integer with this mean and standard deviation: the sum of four even draws, so nearly normal, and never
    further from the mean than 3.47 deviations."""
    total = (word & 0xFFFF) + (word >> 16 & 0xFFFF) + (word >> 32 & 0xFFFF) + (word >> 48)
    return mean + ((total - 131_070) * spread + 18_918) // 37_837  # of the sum: mean 131,070, deviation 37,837


def exponential(word: int, mean: int) -> int:
    """An integer waiting time of at least 1 with this mean."""
    return max(1, round(-mean * ln(1.0 - unit(word))))


def sample(seed: int, purpose: int, population: Sequence[int], count: int, *key: int) -> list[int]:
    """`count` different members of the population, in ascending order. Each member's luck is its own."""
    luck = sorted(population, key=lambda member: (draw(seed, purpose, *key, member), member))
    return sorted(luck[:count])


def few(seed: int, purpose: int, population: Sequence[int], count: int, but: int, *key: int) -> list[int]:
    """`count` different members but one, as drawn: with few draws, however large the population is (Floyd's method)."""
    places = [n for n in (bisect_left(population, but),) if n < len(population) and population[n] == but]
    size = len(population) - len(places)
    found: dict[int, None] = {}
    for turn in range(max(0, size - count), size):
        n = between(draw(seed, purpose, *key, turn), 0, turn)
        found[n if n not in found else turn] = None
    return [population[n + (bool(places) and n >= places[0])] for n in found]


def zipf_weights(count: int, exponent: float) -> list[int]:
    """Integer weights of ranks 1..count under a Zipf law, none below 1; exponent 0 is the uniform law."""
    return [max(1, round(2**32 * exp(-exponent * ln(rank)))) for rank in range(1, count + 1)]


def interests(seed: int, client: int, weights: Sequence[int], count: int) -> list[int]:
    """`count` different ranks (from 0), drawn one after the other by weight, those already drawn left out.

    In the order of the draws: whoever wants fewer has the first of them.
    """
    left, total = list(weights), sum(weights)
    found = []
    for turn in range(count):
        at = draw(seed, INTEREST, client, turn) % total
        rank = 0
        while at >= left[rank]:
            at -= left[rank]
            rank += 1
        total -= left[rank]
        left[rank] = 0
        found.append(rank)
    return found


@lru_cache(maxsize=1 << 16)
def key_of(name: str) -> int:
    """A name as part of a draw's key (FNV-1a over its UTF-8 bytes; Python's hash() differs by process)."""
    word = 0xCBF29CE484222325
    for byte in name.encode():
        word = ((word ^ byte) * 0x100000001B3) & MASK
    return word
