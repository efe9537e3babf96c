/*
 * The wake-ups inside a Committer: acks in their own goroutines, the flusher,
 * the save of one lane, Flush and Close. Which acks reach the flusher is decided
 * by two atomic marks, so that most of them cost nothing; this model shows that
 * no frontier is forgotten by that. See doc/model.md for which step is which
 * function.
 *
 * Bounds: ACKS acks, FLUSHES calls of Flush; with CLOSES one call of Close. Saves
 * may fail any number of times until the faults stop (calm). Times are now and
 * later. What Committer.mu guards happens in one step.
 */
#ifndef ACKS
#define ACKS 3
#endif
#ifndef FLUSHES
#define FLUSHES 1
#endif

/*
 * HOLD is an assertion that says which promise it belongs to. The bits are 0, but
 * with ONLY all others are not looked at.
 */
#if defined(ONLY)
#define UNLESS(n) (ONLY != n)
#else
#define UNLESS(n) 0
#endif
bit C2 = UNLESS(2), C5 = UNLESS(5), C6 = UNLESS(6);
#define HOLD(promise, e) assert((e) || promise)

byte frontier; /* its version */
byte durable;  /* the version that the store holds */
byte returned; /* acks that have */

/* The lane. */
bit noted, hasty; /* the marks */
bit queued;
bit due;          /* when queued: now, else later */
bit busy;
byte again;       /* became dirty while busy: 0 no, 1 for later, 2 for now */
bit failing;
byte saved;       /* durable as far as the store told */
bit frozen;       /* its tickets are stale */
bit gone;
byte waits[FLUSHES + 2]; /* one more than what each Flush waits for; 0: nothing */

/* The flusher. */
bit wake;   /* the channel, which has room for one */
bit armed;  /* it wakes by itself when the lane is due */
bit halt;
bit stopped;
byte running;

#if defined(LIVENESS)
bit calm; /* the faults have stopped */
#else
#define calm 0
#endif

#if defined(BUG_NO_POKE)
#define POKES(now) (now && armed)
#else
#define POKES(now) (!armed || now)
#endif

inline schedule(now) {
	queued = 1;
	due = now;
	if
	:: POKES(now) -> wake = 1
	:: else
	fi
}

inline enqueue(now) {
	if
	:: gone
	:: !gone && busy ->
#if !defined(BUG_BUSY_IS_FORGOTTEN)
		if
		:: again < 1 + now -> again = 1 + now
		:: else
		fi
#else
		skip
#endif
	:: !gone && !busy && failing
	:: !gone && !busy && !failing && queued && !(now && !due)
	:: !gone && !busy && !failing && !(queued && !(now && !due)) -> schedule(now)
	fi
}

#define MARK (now -> hasty : noted)

/* One ack that moves the frontier, or nothing if the partition is frozen. */
proctype acker() {
	bit now;
	if
	:: d_step { !frozen -> frontier++ }
	:: d_step { !frozen -> frontier++; now = 1 } /* no interval, EveryWeight reached, or completed */
	:: frozen -> goto out
	fi;
	/* Load, then Swap: between them another ack may have set the mark. */
	if
	:: !MARK
	:: MARK -> goto out
	fi;
	if
	:: d_step { !MARK && now -> hasty = 1 }
	:: d_step { !MARK && !now -> noted = 1 }
	:: MARK -> goto out
	fi;
	d_step { enqueue(now); skip };
out:	atomic { returned++; now = 0 } /* what is not needed any more: fewer states */
}

/* The flusher's loop: startDue, then the wait for the channel or the timer. */
proctype flusher() {
end:	do
	:: d_step { !stopped ->
		if
		:: halt && running == 0 -> stopped = 1
		:: else ->
			if
			:: queued && due && running < 2 -> /* Parallel: it is not this that keeps a lane from two saves */
				HOLD(C2, !busy);
				queued = 0; due = 0; busy = 1; again = 0; running++
			:: else
			fi;
			armed = queued && running < 2;
			skip
		fi };
end2:		if
		:: d_step { wake -> wake = 0 }
		:: d_step { !wake && armed -> due = queued }
		:: stopped
		fi
	od
}

#define WAITED (waits[0] || waits[FLUSHES] || waits[FLUSHES + 1])

inline resolve(upto) {
	i = 0;
	do
	:: i < FLUSHES + 2 ->
		if
		:: waits[i] <= upto + 1 -> waits[i] = 0
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

/* The goroutine of one save, again and again. */
proctype save() {
	byte d, i;
	bit failed;
end:	do
	:: busy ->
#if defined(BUG_MARKS_CLEARED_AFTER_THE_DRAFT)
		d = frontier;
		noted = 0;
		hasty = 0;
#else
		noted = 0;
		hasty = 0;
		d = frontier;
#endif
		if
		:: d_step { gone -> busy = 0; running--; wake = 1 }
		:: d_step { !gone && d != saved -> skip };
			if
			:: d_step { d >= durable -> durable = d }; failed = 0
			:: d_step { !calm -> failed = 1 }
			:: d_step { !calm && d >= durable -> durable = d; failed = 1 } /* the answer is lost */
			fi
		:: d_step { !gone && d == saved -> failed = 0 }
		fi;
		if
		:: d_step { busy && !failed && !gone ->
#if defined(BUG_PERSIST_THE_NEWEST)
			saved = frontier;
#else
			saved = d;
#endif
			HOLD(C5, saved <= durable) };
			/* The Committed hook runs here, without the lock. */
			d_step {
				if
				:: !gone ->
					failing = 0;
					resolve(saved);
					if
					:: WAITED -> schedule(1)
					:: !WAITED && again -> schedule(again == 2)
					:: else
					fi
				:: else
				fi;
				busy = 0; running--; wake = 1 }
		:: d_step { busy && failed && !gone -> failing = 1;
#if defined(BUG_QUEUED_BEFORE_THE_HOOK)
			schedule(0)
#endif
		   };
			/* The CommitFailed hook runs here, without the lock. */
			d_step {
				if
#if !defined(BUG_QUEUED_BEFORE_THE_HOOK) && !defined(BUG_FAILURE_WAITS_FOR_AN_ACK)
				:: !gone -> schedule(0)
#endif
				:: else
				fi;
				busy = 0; running--; wake = 1 }
		:: d_step { busy && gone -> busy = 0; running--; wake = 1 }
		:: !busy
		fi;
		d_step { d = 0; failed = 0 }
	od
}

/* The part of Flush under the lock: what it waits for, and the hurry. */
inline flush(me, version) {
	version = frontier;
	if
	:: gone || (version <= saved && !busy)
	:: else ->
		waits[me] = version + 1;
		if
		:: version > saved && busy -> again = 2
		:: version > saved && !busy -> schedule(1)
		:: else
		fi
	fi
}

proctype flush_call(byte me) {
	byte v;
	d_step { flush(me, v); skip };
	d_step { waits[me] == 0 -> HOLD(C6, gone || durable >= v); v = 0 }
}

/* Close: flush, freeze, flush again, end. */
proctype close_call() {
	byte v;
	d_step { flush(FLUSHES, v); v = 0 };
	waits[FLUSHES] == 0;
	frozen = 1;
#if !defined(BUG_CLOSE_FLUSHES_ONCE)
	d_step { flush(FLUSHES + 1, v); v = 0 };
	waits[FLUSHES + 1] == 0;
#endif
	HOLD(C6, durable == frontier);
	d_step {
		gone = 1;
		queued = 0;
		v = 0;
		do
		:: v < FLUSHES -> waits[v] = 0; v++
		:: else -> break
		od;
		halt = 1;
		wake = 1 };
	stopped
}

init {
	byte i = 0;
	atomic {
		run flusher();
		run save();
		do
		:: i < ACKS -> run acker(); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < FLUSHES -> run flush_call(i); i++
		:: else -> break
		od;
#if defined(CLOSES)
		run close_call();
#endif
		i = 0
	}
#if defined(LIVENESS)
	calm = 1
#endif
}

#if defined(LIVENESS)
/* Once the faults have stopped, everything acked is durable, nobody waits, and Close has ended. */
#if defined(CLOSES)
#define ENDED stopped
#else
#define ENDED !busy
#endif
ltl live { <> calm -> <> [] (returned == ACKS && durable == frontier && !WAITED && ENDED) }
#endif
