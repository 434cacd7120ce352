import type { AdminIo } from '../io.ts'
import { withServer } from '../server-module.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

interface KeysModule {
  readStatementKeys(env: NodeJS.ProcessEnv): Promise<
    readonly {
      readonly kid: string
      readonly state: string
      readonly signsFrom: Date
      readonly signsUntil: Date
    }[]
  >
  revokeKey(env: NodeJS.ProcessEnv, kid: string): Promise<void>
}

const withKeys = <Result>(work: (module: KeysModule) => Promise<Result>) =>
  withServer('@berth/server/admin-statement-keys', work)

export async function listStatementKeys(options: { json?: boolean }, { env, print }: AdminIo): Promise<void> {
  for (const key of await withKeys(({ readStatementKeys }) => readStatementKeys(env))) {
    const { kid, state, signsFrom, signsUntil } = key
    const line = `${state.padEnd(7)}  ${kid}  from ${signsFrom.toISOString()} until ${signsUntil.toISOString()}`
    print(options.json ? jsonLine(key) : printableLine(line))
  }
}

/** Takes a key back. It writes to the database. */
export async function revokeStatementKey(kid: string, { env, print }: AdminIo): Promise<void> {
  await withKeys(({ revokeKey }) => revokeKey(env, kid))
  print(printableLine(`${kid} is revoked: nothing that it has signed counts for whoever has the keys from now on`))
}
