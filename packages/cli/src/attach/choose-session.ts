import { createInterface } from 'node:readline/promises'
import { type Interaction, type Session, statusLabel } from '@berth/client'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { countdown } from '../service-clock.ts'
import { clip, printableLine } from '../terminal-text.ts'

/** So many of the latest Sessions are looked at, and so many offered. */
const listed = 50
const offered = 9

interface Choice {
  readonly session: Session
  /** The Interactions that wait for people, oldest first. */
  readonly waiting: readonly Interaction[]
}

/**
 * Asks in a terminal which Session is meant: those that wait for people come first, the latest change before others.
 * @returns null if the person leaves
 * @throws UsageError if this is no terminal, or there is no Session
 */
export async function chooseSession(io: CommandIo): Promise<string | null> {
  if (io.stdin.isTTY !== true || !io.stdout.isTerminal) {
    throw new UsageError('name a session: berth attach <session>; `berth sessions` lists them')
  }
  const choices = await readChoices(io)
  const [first] = choices
  if (first === undefined) throw new UsageError('there is no session yet: berth run <message> starts one')
  for (const [at, choice] of choices.entries()) await io.stdout.line(lineOf(choice, at + 1, io))
  for (;;) {
    const answer = await ask(
      `Which session? Enter for 1${choices.length === 1 ? '' : `, or 2-${choices.length}`} › `,
      io,
    )
    if (answer === null) return null
    const chosen = choices[answer.trim() === '' ? 0 : Number(answer) - 1]
    if (chosen !== undefined) return chosen.session.id
  }
}

async function readChoices({ client }: CommandIo): Promise<readonly Choice[]> {
  const { sessions } = await client.call('listSessions', { query: { limit: listed } })
  const mayWait = ({ status }: Session) => status === 'needs_you'
  const first = [...sessions.filter(mayWait), ...sessions.filter(session => !mayWait(session))].slice(0, offered)
  return await Promise.all(
    first.map(async session => ({
      session,
      waiting: mayWait(session) ? (await client.call('listInteractions', { sessionId: session.id })).interactions : [],
    })),
  )
}

function lineOf({ session, waiting: [pending] }: Choice, number: number, { stdout, clock }: CommandIo): string {
  const left = pending?.deadline === undefined ? '' : `, ${countdown(Date.parse(pending.deadline) - clock.now())} left`
  const state =
    pending === undefined
      ? statusLabel(session.status).toLowerCase()
      : `${kinds.get(pending.kind) ?? 'waits for you'}${left}`
  const room = Math.max(20, stdout.columns - state.length - 7)
  const title = clip(printableLine(session.title), room)
  return `${String(number).padStart(3)}  ${title}  ${stdout.paint(pending === undefined ? 'dim' : 'yellow', state)}`
}

const kinds: ReadonlyMap<string, string> = new Map(
  Object.entries({
    approval: 'asks to be allowed',
    exit_plan_mode: 'proposes a plan',
    ask_user: 'asks you',
  }),
)

async function ask(prompt: string, { stdin }: CommandIo): Promise<string | null> {
  using input = createInterface({ input: stdin, output: process.stdout, terminal: true, historySize: 0 })
  const left = new Promise<null>(resolve => {
    input.once('SIGINT', () => resolve(null))
    input.once('close', () => resolve(null))
  })
  return await Promise.race([input.question(prompt), left])
}
