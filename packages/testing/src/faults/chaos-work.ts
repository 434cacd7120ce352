import { randomInt, randomUUID } from 'node:crypto'
import type { Interaction, Run, Session } from '@berth/contract'
import { activitiesOf, type EndedRun } from '../runs/ended-run.ts'
import { until } from '../until.ts'
import { type Fleet, PATIENCE_MS, POLL_MS } from './chaos-fleet.ts'

/** The work of a Session's Turns, and the checks of their Runs. */
export interface Work {
  readonly runtime: string
  /** True if its Sessions work on the fleet's repository. */
  readonly isOnRepository?: boolean
  message(turnId: string): string
  /** Acts while the Run is active. */
  attend?(fleet: Fleet, session: Session, run: Run): Promise<void>
  /**
   * Checks an ended Run.
   * @param completed Turns of the Session whose Runs completed before this one
   * @throws Error if something is lost
   */
  check(ended: EndedRun, turnId: string, completed: readonly string[]): void
}

/** Fails unless everything that earlier Runs wrote is there to the byte; prints the Turns that have written. */
const writing = (id: string) =>
  [
    'set -e',
    '[ ! -e sums ] || sha256sum -c --status sums',
    `head -c ${randomInt(1, 20_000)} /dev/urandom > file-${id}; sha256sum file-${id} >> sums; echo ${id} >> log`,
    'sleep 0.1; cat log',
  ].join('\n')

/** @throws Error unless a completed Run printed exactly the Turns that completed before it, among others, in order */
function checkWritten({ session, run, ...ended }: EndedRun, completed: readonly string[]): void {
  if (run.status !== 'completed') return
  const output = String(activitiesOf({ session, run, ...ended })[0]?.['output'])
  const found = output.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g)?.filter(id => completed.includes(id)) ?? []
  if (JSON.stringify(found) !== JSON.stringify(completed))
    throw new Error(`session ${session.id} has lost sealed work: ${JSON.stringify({ completed, output })}`)
}

const shell: Work = {
  runtime: 'shell',
  message: writing,
  check: (ended, _, completed) => checkWritten(ended, completed),
}

/** Berth's own agent, with a model that does as it is told. Its conversation has to be whole too. */
const native: Work = {
  runtime: 'native',
  message: id => `turn ${id}\n~~~\n${writing(id)}\n~~~`,
  check(ended, turnId, completed) {
    checkWritten(ended, completed)
    if (ended.run.status === 'completed') checkRecalled(ended, [...completed, turnId])
  },
}

/** Commits in a checkout whose older objects are those of the host's mirror. */
const committing: Work = {
  runtime: 'shell',
  isOnRepository: true,
  message: id =>
    [
      'cd /workspace/project',
      writing(id).replace('cat log', 'git add -A'),
      `git -c user.name=A -c user.email=a@example.com commit -q -m ${id}`,
      'git fsck --connectivity-only --no-dangling',
      'git diff --quiet HEAD; git log --reverse --format=%s',
    ].join('\n'),
  check: (ended, _, completed) => checkWritten(ended, completed),
}

const form = JSON.stringify({ message: 'Which?', requestedSchema: { properties: { a: { type: 'string' } } } })

/** An agent that presents a file and asks people, who answer or cancel. */
const asking: Work = {
  runtime: 'remembering',
  message: id => `tool look\nremember ${id}\npresent ${id}\nask ${form}\nrecall`,
  async attend(fleet, session, run) {
    const path = `/v1/sessions/${session.id}`
    // A Run that begins again asks again.
    const answered = new Set<string>()
    for (;;) {
      const pending = await until(
        'a question or an end',
        async () => {
          if ((await fleet.run(session, run.id)).endedAt !== undefined) return null
          const { body } = await fleet.ask<{ interactions: Interaction[] }>('GET', `${path}/interactions`)
          return body.interactions.find(({ id, runId }) => runId === run.id && !answered.has(id))
        },
        PATIENCE_MS,
        POLL_MS,
      ).catch(error => fleet.explain(session, error))
      if (pending === null) return
      answered.add(pending.id)
      if (randomInt(4) === 0) await fleet.ask('POST', `${path}/runs/${run.id}/cancel`)
      else {
        const replyTo = { interactionId: pending.id }
        await fleet.ask('PUT', `${path}/turns/${randomUUID()}`, { message: 'mine', replyTo })
      }
    }
  },
  check(ended, turnId, completed) {
    const presented = presentedBy(ended)
    const expected = ended.run.status === 'crashed' && presented.length === 0 ? [] : [turnId]
    // A Run that was cancelled before it asked may not have had time to present.
    const early = ended.run.status === 'cancelled' && presented.length === 0
    if (!early && JSON.stringify(presented) !== JSON.stringify(expected))
      throw new Error(`run ${ended.run.id} of turn ${turnId} has presented ${presented} (${ended.run.status})`)
    if (ended.run.status === 'completed') checkRecalled(ended, completed)
  },
}

/** @throws Error unless the agent's last words name these Turns */
function checkRecalled({ session, events }: EndedRun, turns: readonly string[]): void {
  const recalled = String(events.findLast(({ data }) => data['role'] === 'assistant')?.data['text'])
  const missing = turns.filter(id => !recalled.includes(id))
  if (missing.length > 0) throw new Error(`session ${session.id} has forgotten ${missing}: ${recalled}`)
}

/** Names of the files that a Run presented. */
export const presentedBy = ({ events }: EndedRun) =>
  events.flatMap(({ type, data }) =>
    type === 'svc.artifact.created' && data['kind'] === 'presented_file' ? [data['name']] : [],
  )

/** Kinds of Sessions, by name. */
export const works = { shell, native, asking, committing } as const
export type WorkName = keyof typeof works
