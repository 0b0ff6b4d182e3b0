"""All orders of the engine: each is a numbered list of tie-breakers that ends in a unique one."""

from .values import Within, Workload

Key = tuple[object, ...]


def in_queue(workload: Workload) -> Key:
    """Sort key of the workloads of one queue; the smallest is its head.

    Before all others comes the one whose preemption is in flight, see `Run`.

    1. priority, the higher first
    2. queue time, the older first
    3. uid
    """
    return (-workload.priority, workload.queued_at, workload.uid)


def of_heads(workload: Workload, level: int) -> Key:
    """Sort key of the heads of a cycle.

    1. level: who borrows from less far comes first
    2. priority, the higher first
    3. queue time, the older first
    4. uid (Kueue leaves this tie open)
    """
    return head_key(level, workload.priority, workload.queued_at, workload.uid)


def head_key(level: int, priority: int, queued_at: object, uid: object) -> Key:
    """Write the same key for what is no workload."""
    return (level, -priority, queued_at, uid)


def of_victims(workload: Workload, *, own: bool) -> Key:
    """Sort key of candidates; the smallest is taken first.

    1. what is evicted already
    2. other queues before the own one
    3. priority, the lower first
    4. reservation time, the newer first
    5. uid
    """
    return (
        not workload.evicted,
        own,
        workload.priority,
        -workload.reserved_at,
        workload.uid,
    )


def may_be_preempted_within(victim: Workload, by: Workload, policy: Within) -> bool:
    """Whether a queue's own workload may be ended for another of the same queue."""
    match policy:
        case "Never":
            return False
        case "LowerPriority":
            return victim.priority < by.priority
        case "LowerOrNewerEqualPriority":
            newer = victim.queued_at > by.queued_at
            return victim.priority < by.priority or (victim.priority == by.priority and newer)
