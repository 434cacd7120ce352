/** A file at or above this many seconds of processor time is long. */
export const longFromSeconds = 3

/** Processor time of each test file in seconds, as `script/test --measure` wrote it to `costs.json`. */
export type Costs = Readonly<Record<string, number>>

/** Long whatever they cost: they kill services, or break networks and databases, and a busy machine disturbs them most. */
const faults = 'packages/server/test/faults/'

/** Words of the source of a test that starts a browser, which is never cheap for the machine. */
const browser = /\blaunchChromium\b|@berth\/testing\/browser\//

/**
 * Long files that every gate runs all the same, each with its reason: one walk through everything that people open, and one of
 * each kind that the rest of the gate does not have.
 */
export const everyGate: Readonly<Record<string, string>> = {
  'packages/console/test/sign-in.test.ts': 'walk: sign-in',
  'packages/console/test/session-page.test.ts': 'walk: a Session',
  'packages/console/test/changes.test.ts': 'walk: changes',
  'packages/console/test/new-session.test.ts': 'walk: a new Session',
  'packages/console/test/terminal-page.test.ts': 'walk: a terminal',
  'packages/console/test/every-page.test.ts': 'walk: every page, both themes and a phone',
  'packages/console/test/attacks.test.ts': 'walk: attacks on the page',
  'packages/console/test/hostile-output.test.ts': 'walk: hostile output of agents',
  'packages/core/test/accounts/account-page.test.ts': 'walk: a person’s account',
  'packages/worker/test/execution/shell-session.test.ts': 'a Session from end to end',
  'packages/core/test/people/interactions.test.ts': 'questions and decisions of people',
  'packages/server/test/faults/lost-attempts.test.ts': 'a worker that is lost in a Run',
  'packages/worker/test/execution/third-party-agent.test.ts': 'an agent of somebody else',
}

/**
 * Returns whether a file belongs to the long tier.
 * @param source the text of the file
 */
export function isLong(file: string, seconds: number, source: string): boolean {
  return seconds >= longFromSeconds || file.startsWith(faults) || browser.test(source)
}

/** Never runs a second time: neither a process, a clock nor a network can excuse its failure. */
export function isPure(file: string, source: string): boolean {
  return (
    !file.includes('/test/') &&
    !/\/test\/|\/testing[/']|node:(child_process|net|http|https|timers|worker_threads|dgram)|setTimeout|performance\.now|Date\.now/.test(
      source,
    )
  )
}
