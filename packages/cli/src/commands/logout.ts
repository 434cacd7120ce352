import { type ExitCode, exitCode } from '../exit-code.ts'
import { explain, UsageError } from '../failure.ts'
import type { SignInIo } from '../io.ts'
import type { Profile } from '../profiles/profile.ts'
import { printableLine } from '../terminal-text.ts'

export interface LogoutOptions {
  readonly profile?: string
  readonly all?: boolean
}

/** Ends sign-ins at the service and forgets them here. A sign-in is forgotten even if the service cannot be told. */
export async function logout({ profile, all }: LogoutOptions, io: SignInIo): Promise<ExitCode> {
  if (all && profile !== undefined) throw new UsageError('--all and --profile cannot be combined')
  const { store, env } = io
  const names = all ? store.names() : [profile ?? (env.BERTH_PROFILE || store.current())]
  let isDone = true
  for (const name of names) {
    if (name === null || !store.names().includes(name)) {
      throw new UsageError(name === null ? 'you are not signed in' : `there is no profile ${name}`)
    }
    isDone = (await forget(name, io)) && isDone
  }
  if (names.length === 0) await io.stderr.line('berth: you are not signed in')
  return isDone ? exitCode.completed : exitCode.failed
}

/** @returns whether the sign-in is over at the service as well */
async function forget(name: string, { store, platform, stdout, stderr }: SignInIo): Promise<boolean> {
  using _lock = await store.lock(name, platform)
  const profile = store.readWhole(name)
  const failure = profile === null ? null : await revoke(profile, platform)
  store.remove(name)
  const whose = profile === null ? '' : `: ${profile.person.email} in ${profile.organization.name}`
  await stdout.line(printableLine(`signed out of profile ${name}${whose}`))
  if (failure === null) return true
  await stderr.line(
    printableLine(
      `berth: the sign-in goes on at the service, which was not told: ${failure}. End it there, in your list of sign-ins`,
    ),
  )
  return false
}

/** Ends a sign-in at its service. @returns why that failed, or null */
export async function revoke({ issuer, url, tokens }: Profile, platform: SignInIo['platform']): Promise<string | null> {
  if (tokens === null) return null
  const { AccountService } = await import('../sign-in/account-service.ts')
  try {
    await (await AccountService.find(issuer, platform)).revoke(tokens.refresh)
    return null
  } catch (failure) {
    return explain(failure, { url, origin: { kind: 'key', from: '' } }).line
  }
}
