/** The supervisor is the second process of its pid namespace. Outside of one no program has that number. */
const PID_IN_SANDBOX = 2

/**
 * Sends a signal to every other process of the sandbox. The kernel does it in one step, so a process that is being forked
 * gets the signal too. Does nothing outside of a sandbox, where it would reach the whole machine.
 */
export function signalAll(signal: 'SIGSTOP' | 'SIGCONT'): void {
  if (process.pid !== PID_IN_SANDBOX) return
  try {
    process.kill(-1, signal)
  } catch {
    // ESRCH: the supervisor is alone.
  }
}
