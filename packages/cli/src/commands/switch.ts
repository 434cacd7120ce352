import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { SignInIo } from '../io.ts'
import type { ListedProfile } from '../profiles/profile-store.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

/** Makes a profile the current one, or lists the profiles. */
export async function switchProfile(
  name: string | undefined,
  { json }: { readonly json?: boolean },
  io: SignInIo,
): Promise<ExitCode> {
  if (name === undefined) return list(json === true, io)
  const { store, stdout } = io
  const profile = store.read(name)
  if (profile === null) throw new UsageError(`there is no profile ${name}; ${known(store.names())}`)
  store.choose(name)
  if (json) await stdout.line(jsonLine(row({ name, profile }, name)))
  else
    await stdout.line(
      printableLine(`now ${profile.person.name} <${profile.person.email}> in ${profile.organization.name}`),
    )
  if (io.env.BERTH_API_KEY) await io.stderr.line('berth: BERTH_API_KEY is set, so commands use that key all the same')
  return exitCode.completed
}

async function list(json: boolean, { store, stdout, stderr }: SignInIo): Promise<ExitCode> {
  const current = store.current()
  const profiles = store.list()
  if (profiles.length === 0 && !json) await stderr.line('berth: no profiles; sign in with `berth login`')
  const cells = profiles.map(listed => cellsOf(listed))
  const widths = [0, 1, 2].map(at => Math.max(0, ...cells.map(row => row[at]?.length ?? 0)))
  for (const [at, listed] of profiles.entries()) {
    if (json) await stdout.line(jsonLine(row(listed, current)))
    else {
      const text = (cells[at] ?? []).map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
      const isCurrent = listed.name === current
      await stdout.line(stdout.paint(isCurrent ? 'bold' : 'reset', `${isCurrent ? '*' : ' '} ${text}`.trimEnd()))
    }
  }
  return exitCode.completed
}

function cellsOf(listed: ListedProfile): string[] {
  const { name, profile } = listed
  if (profile === null) return [printableLine(name), printableLine(listed.problem)]
  const { organization, person, url, tokens } = profile
  const ended = tokens === null ? '  (ended; sign in again)' : ''
  return [name, organization.name, person.email, `${url}${ended}`].map(printableLine)
}

function row(listed: ListedProfile, current: string | null): object {
  const { name, profile } = listed
  const isCurrent = name === current
  if (profile === null) return { name, current: isCurrent, problem: listed.problem }
  const { url, person, organization, tokens } = profile
  return { name, current: isCurrent, url, person, organization, signedIn: tokens !== null }
}

const known = (names: readonly string[]): string =>
  names.length === 0 ? 'sign in with `berth login`' : `there are ${names.join(', ')}`
