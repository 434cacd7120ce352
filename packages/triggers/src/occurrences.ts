import { invalidField } from '@berth/platform/kit/refusal.ts'
import { Cron } from 'croner'

/** A cron expression of five fields, in a time zone. */
export interface Schedule {
  readonly cron: string
  readonly timeZone: string
}

const patternOf = ({ cron, timeZone }: Schedule): Cron =>
  new Cron(cron, { timezone: timeZone, mode: '5-part', paused: true })

/**
 * Returns the first time after another at which a schedule fires; null if it never does. A fixed time that the clocks
 * skip fires when they go on, and one that they repeat fires once.
 */
export const nextOccurrence = (schedule: Schedule, after: Date): Date | null => patternOf(schedule).nextRun(after)

/**
 * Checks a schedule as a caller has written it.
 * @returns it, with its next occurrence
 * @throws ApiError 400 `invalid_request` for an unknown time zone, and for an expression that is not cron's or never fires
 */
export function judgeSchedule(
  { cron, timeZone = 'UTC' }: { readonly cron: string; readonly timeZone?: string },
  now: Date,
): Schedule & { readonly nextAt: Date } {
  requireTimeZone(timeZone)
  const schedule = { cron, timeZone }
  const nextAt = firstOf(schedule, now)
  if (nextAt === null) throw invalidField(['schedule', 'cron'], 'never fires')
  return { ...schedule, nextAt }
}

function requireTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw invalidField(['schedule', 'timeZone'], 'is not the name of a time zone, such as Europe/Berlin')
  }
}

/** The library takes nicknames and dates as well. */
const fiveFields = /^\S+(?: +\S+){4}$/

function firstOf(schedule: Schedule, now: Date): Date | null {
  try {
    if (!fiveFields.test(schedule.cron)) throw new SyntaxError('not five fields')
    return nextOccurrence(schedule, now)
  } catch (cause) {
    if (!(cause instanceof TypeError || cause instanceof RangeError || cause instanceof SyntaxError)) throw cause
    throw invalidField(
      ['schedule', 'cron'],
      'is not a cron expression of five fields: minute, hour, day of the month, month and day of the week',
    )
  }
}
