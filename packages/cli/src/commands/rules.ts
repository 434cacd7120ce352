import { open } from 'node:fs/promises'
import type { AdminIo } from '../io.ts'
import { withServer } from '../server-module.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { orUsage } from './turn-input.ts'

interface Rule {
  readonly branch: string
  readonly requiredChecks: readonly string[]
}

interface Check {
  readonly name: string
  readonly state: string
  readonly updatedAt: Date
}

interface RepositoriesModule {
  setBranchRule(
    env: NodeJS.ProcessEnv,
    repository: string,
    branch: string,
    checks: readonly string[] | null,
  ): Promise<void>
  readBranchRules(env: NodeJS.ProcessEnv, repository: string): Promise<readonly Rule[]>
  recordCheck(env: NodeJS.ProcessEnv, repository: string, check: object): Promise<void>
  readChecks(env: NodeJS.ProcessEnv, repository: string, oid: string): Promise<readonly Check[]>
}

const withRepositories = <Result>(work: (module: RepositoriesModule) => Promise<Result>) =>
  withServer('@berth/server/admin-repositories', work)

/** Protects a branch of the data directory, or stops protecting it. It writes to the database. */
export async function setRule(
  repository: string,
  branch: string,
  checks: readonly string[] | null,
  { env, print }: AdminIo,
): Promise<void> {
  await withRepositories(({ setBranchRule }) => setBranchRule(env, repository, branch, checks))
  print(printableLine(checks === null ? `${branch} is not protected` : ruleLine({ branch, requiredChecks: checks })))
}

export async function listRules(
  repository: string,
  options: { json?: boolean },
  { env, print }: AdminIo,
): Promise<void> {
  const rules = await withRepositories(({ readBranchRules }) => readBranchRules(env, repository))
  for (const rule of rules) print(options.json ? jsonLine(rule) : printableLine(ruleLine(rule)))
}

/** Records the result of a check of a commit. It writes to the database. */
export async function recordCheck(
  repository: string,
  check: { readonly oid: string; readonly name: string; readonly state: string },
  { output: file }: { output?: string },
  { env }: AdminIo,
): Promise<void> {
  const printed = file === undefined ? {} : { output: await orUsage(file, () => readTail(file), 'read') }
  await withRepositories(module => module.recordCheck(env, repository, { ...check, ...printed }))
}

/** Most bytes of a check's output that are sent. */
const OUTPUT_BYTES = 65_536

async function readTail(path: string): Promise<string> {
  await using file = await open(path)
  const start = Math.max(0, (await file.stat()).size - OUTPUT_BYTES)
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(OUTPUT_BYTES), position: start })
  return buffer.subarray(0, bytesRead).toString()
}

export async function listChecks(
  repository: string,
  oid: string,
  options: { json?: boolean },
  { env, print }: AdminIo,
): Promise<void> {
  const checks = await withRepositories(({ readChecks }) => readChecks(env, repository, oid))
  for (const check of checks) {
    const { name, state, updatedAt } = check
    const line = `${state.padEnd(7)}  ${updatedAt.toISOString()}  ${name}`
    print(options.json ? jsonLine(check) : printableLine(line))
  }
}

function ruleLine({ branch, requiredChecks }: Rule): string {
  const needs = requiredChecks.length === 0 ? 'none' : requiredChecks.join(', ')
  return `${branch} accepts pull requests only; required checks: ${needs}`
}
