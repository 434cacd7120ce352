import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { type BerthClient, type StatementSubject, verifyStatement } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { LocalIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { printFacts } from './facts.ts'
import { statementFacts } from './statement-facts.ts'

export interface VerifyOptions {
  /** A copy of the service's public keys; absent: they are asked for. */
  readonly keys?: string
  /** The commit that the statement has to be on. */
  readonly commit?: string
  readonly json?: boolean
}

/** What the person has named, as far as it can be read without the service. */
export interface Named {
  /** The statement; null if the service has to be asked for that on the commit. */
  readonly file: Uint8Array | null
  /** What it has to be on; the tree is known if the commit is in the present repository. */
  readonly subject: StatementSubject
}

/**
 * Reads the statement that the person has named, by its file or by its commit: one lies beside under the name that its
 * Artifact has, or the service has it.
 * @throws UsageError if there is no such file, and no commit of that name
 */
export async function readNamed(named: string, { commit }: VerifyOptions): Promise<Named> {
  const file = await readIfThere(named)
  if (file !== null) return { file, subject: commit === undefined ? {} : await requireCommit(commit) }
  if (commit !== undefined) throw new UsageError(`there is no file ${named}`)
  const subject = await requireCommit(named)
  return { file: await readIfThere(`statement-${subject.commit.slice(0, 12)}.intoto.json`), subject }
}

type VerifyIo = LocalIo & { readonly client?: BerthClient }

/** Verifies the statement. */
export async function judgeNamed(
  { file, subject }: Named,
  { keys, json }: VerifyOptions,
  { stderr, client }: Omit<VerifyIo, 'stdout'>,
): ReturnType<typeof verifyStatement> {
  const statement = file ?? (await fetchStatement(subject, client))
  const keySet = keys === undefined ? await fetchKeys(client) : parseKeys(keys, await readIfThere(keys))
  if (keys === undefined && !json) {
    await stderr.line('berth: these are the keys that the service shows now; --keys verifies with a copy of your own')
  }
  return verifyStatement(statement, keySet, subject)
}

/** Verifies the statement, and says in plain lines what it proves, or why it proves nothing. */
export async function verifyNamed(named: Named, options: VerifyOptions, io: VerifyIo): Promise<ExitCode> {
  const { subject } = named
  const { stdout } = io
  const verdict = await judgeNamed(named, options, io)
  if (options.json) await stdout.line(jsonLine(verdict))
  else if (verdict.verified) {
    const on = subject.commit === undefined ? '; --commit compares it with a commit' : ', and is on this commit'
    await stdout.line(`${stdout.paint('green', 'verified')}: the statement holds${on}`)
    await printFacts(statementFacts(verdict.statement, verdict.key, subject), stdout)
    await stdout.line('It proves that the holder of the key says so, and that nothing was changed since.')
    await stdout.line('It does not prove that the checks look at enough, or that the change is good.')
  } else await stdout.line(`${stdout.paint('red', 'not verified')}: ${printableLine(verdict.detail)}`)
  return verdict.verified ? exitCode.completed : exitCode.failed
}

/** @throws UsageError for a file that cannot be read */
async function readIfThere(path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path)
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENAMETOOLONG'))
      return null
    throw new UsageError(`cannot read ${path}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

function parseKeys(path: string, file: Uint8Array | null): unknown {
  if (file === null) throw new UsageError(`there is no file ${path}`)
  try {
    return JSON.parse(Buffer.from(file).toString())
  } catch {
    throw new UsageError(`${path} is no JSON: it is to be a copy of /.well-known/berth-keys.json of the service`)
  }
}

/**
 * Returns a commit by its whole id, or by any name that it has in the present repository, and then with its tree.
 * @throws UsageError if it is neither
 */
async function requireCommit(name: string): Promise<{ readonly commit: string; readonly tree?: string }> {
  const commit = await revParse(`${name}^{commit}`)
  const tree = commit === null ? null : await revParse(`${commit}^{tree}`)
  if (commit !== null) return { commit, ...(tree !== null && { tree }) }
  if (/^[0-9a-f]{40}$/.test(name)) return { commit: name }
  throw new UsageError(`${name} is no file, no commit of this repository, and no whole id of a commit`)
}

async function revParse(name: string): Promise<string | null> {
  try {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', name]
    const oid = (await promisify(execFile)('git', args)).stdout.trim()
    return /^[0-9a-f]{40}$/.test(oid) ? oid : null
  } catch {
    // No git, no repository, or none of its commits.
    return null
  }
}

async function fetchStatement({ commit = '' }: StatementSubject, client: BerthClient | undefined): Promise<string> {
  if (client === undefined) throw new Error('a statement is asked for without a service')
  const { statements } = await client.call('listStatements', { query: { commit } })
  const [newest] = statements
  if (newest === undefined) {
    throw new Error(
      `the service has no statement on ${commit}, or this credential may not see it: only a publication that was verified carries one`,
    )
  }
  const { sessionId, publicationId } = newest
  return JSON.stringify(await client.call('getStatement', { sessionId, publicationId }))
}

async function fetchKeys(client: BerthClient | undefined): Promise<unknown> {
  if (client === undefined) throw new Error('keys are asked for without a service')
  return await client.call('getStatementKeys')
}
