import { createServer } from 'node:net'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, describe, expect, test } from 'vitest'
import { DatabaseUnavailable } from './database-errors.ts'
import { openDatabase, type PooledDatabase } from './pool.ts'

const made = await createTestDatabase({ empty: true })
const database = made.database
await database.query('create table counters (id text primary key, value bigint not null)')
afterAll(() => made[Symbol.asyncDispose]())

async function backendPid(from: PooledDatabase): Promise<number> {
  const { rows } = await from.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** The same outcome, some turns of the queue later. */
async function later(outcome: Promise<unknown>): Promise<unknown> {
  try {
    return await outcome
  } catch (error) {
    for (let turn = 0; turn < 20; turn += 1) await undefined
    throw error
  }
}

describe('values', () => {
  test('eight-byte integers are numbers, in arrays too, and timestamps are Dates', async () => {
    const { rows } = await database.query<Record<string, unknown>>(
      "select 9007199254740991::bigint as big, array[1, null]::bigint[] as bigs, 'epoch'::timestamptz as at, count(*) as n from counters where false",
    )
    expect(rows).toEqual([{ big: Number.MAX_SAFE_INTEGER, bigs: [1, null], at: new Date(0), n: 0 }])
  })

  test('an integer that a number cannot hold is an error, not another number', async () => {
    await expect(database.query('select 9007199254740993::bigint')).rejects.toThrow(/beyond what a number holds/)
  })

  test('a named statement is run with its values', async () => {
    const statement = { name: 'sum', text: 'select $1::int + $2::int as sum', values: [2, 3] }
    expect((await database.query(statement)).rows).toEqual([{ sum: 5 }])
    expect((await database.query({ name: 'sum', text: statement.text }, [4, 5])).rows).toEqual([{ sum: 9 }])
  })
})

describe('transactions', () => {
  test('commit all of their statements or none', async () => {
    await database.transaction(async sql => sql.query("insert into counters values ('kept', 1)"))
    const refused = database.transaction(async sql => {
      await sql.query("insert into counters values ('lost', 1)")
      throw new Error('refused')
    })
    await expect(refused).rejects.toThrow('refused')
    const { rows } = await database.query("select id from counters where id in ('kept', 'lost')")
    expect(rows).toEqual([{ id: 'kept' }])
  })

  test('a constraint keeps its SQLSTATE and costs no connection', async () => {
    await using single = openDatabase({ connection: made.connection, log: silentLog, connections: 1 })
    const before = await backendPid(single)
    const twice = await single
      .transaction(async sql => {
        await sql.query("insert into counters values ('twice', 1)")
        await sql.query("insert into counters values ('twice', 1)")
      })
      .catch((error: unknown) => error)
    expect(twice).toMatchObject({ code: '23505' })
    await expect(single.query('select nothing')).rejects.toThrow(/nothing/)
    expect(await backendPid(single)).toBe(before)
  })

  test('a swallowed failure does not pass for a commit', async () => {
    const swallowed = database.transaction(async sql => {
      await sql.query("insert into counters values ('swallowed', 1)")
      await sql.query('select nothing').catch(() => {})
    })
    await expect(swallowed).rejects.toThrow(/rolled back/)
  })

  test.each([
    ['the first statement', (slow: Promise<unknown>, other: Promise<unknown>) => Promise.all([later(slow), other])],
    ['the second', (slow: Promise<unknown>, other: Promise<unknown>) => Promise.all([other, later(slow)])],
  ])(
    'statements that are sent together tell the failure that came first, though %s is heard later',
    async (_, both) => {
      // Long enough for every statement but the sleeping one, however busy the machine is.
      await using impatient = openDatabase({ connection: made.connection, log: silentLog, statementTimeoutMs: 2_000 })
      const work = impatient.transaction(tx => both(tx.query('select pg_sleep(5)'), tx.query('select 1')))
      await expect(work).rejects.toBeInstanceOf(DatabaseUnavailable)
      await expect(
        impatient.transaction(tx => both(tx.query('select 1 / 0'), tx.query('select 1'))),
      ).rejects.toMatchObject({ code: '22012' })
    },
  )

  test('an ignored statement timeout still fails the transaction', async () => {
    await using impatient = openDatabase({ connection: made.connection, log: silentLog, statementTimeoutMs: 2_000 })
    const work = impatient.transaction(tx => tx.query('select pg_sleep(5)').catch(() => 'ignored'))
    await expect(work).rejects.toBeInstanceOf(DatabaseUnavailable)
  })

  test('a handle that outlives its transaction refuses statements', async () => {
    const escaped = await database.transaction(async sql => ({ sql }))
    await expect(escaped.sql.query('select 1')).rejects.toThrow(/after its transaction/)
  })

  test('deadlocks are tried again until every transaction has happened', async () => {
    await database.query("insert into counters values ('a', 0), ('b', 0)")
    const step = (first: string, second: string) =>
      database.transaction(async sql => {
        await sql.query('update counters set value = value + 1 where id = $1', [first])
        await sql.query('update counters set value = value + 1 where id = $1', [second])
      })
    await Promise.all([step('a', 'b'), step('b', 'a'), step('a', 'b'), step('b', 'a')])
    const { rows } = await database.query("select value from counters where id in ('a', 'b')")
    expect(rows).toEqual([{ value: 4 }, { value: 4 }])
  })

  test('serialization failures are tried again, a bounded number of times', async () => {
    let attempts = 0
    const failing = database.transaction(async sql => {
      attempts += 1
      await sql.query("do $$ begin raise exception using errcode = '40001'; end $$")
    })
    await expect(failing).rejects.toMatchObject({ code: '40001' })
    expect(attempts).toBe(5)
  })

  test('begin with the isolation and access mode that the caller asks for', async () => {
    const { rows } = await database.transaction(
      sql =>
        sql.query(
          "select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as read_only",
        ),
      { isolation: 'repeatable read', readOnly: true },
    )
    expect(rows).toEqual([{ isolation: 'repeatable read', read_only: 'on' }])
  })
})

describe('a database that is away', () => {
  test('a connection ended between two statements of a transaction neither crashes nor is lent again', async () => {
    await using victim = openDatabase({ connection: made.connection, log: silentLog, connections: 1 })
    const lost = victim.transaction(async sql => {
      const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid')
      await database.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid])
      await sql.query('select 1')
    })
    await expect(lost).rejects.toBeInstanceOf(DatabaseUnavailable)
    await expect(backendPid(victim)).resolves.toBeGreaterThan(0)
  })

  test('an idle connection that ends is replaced', async () => {
    const warned = Promise.withResolvers<void>()
    const log = { ...silentLog, warn: () => warned.resolve() }
    await using victim = openDatabase({ connection: made.connection, log, connections: 1 })
    await database.query('select pg_terminate_backend($1, 5000)', [await backendPid(victim)])
    await warned.promise
    await expect(backendPid(victim)).resolves.toBeGreaterThan(0)
  })

  test('a connection lost while committing leaves the outcome unknown', async () => {
    await using victim = openDatabase({ connection: made.connection, log: silentLog, connections: 1 })
    const lost = await victim
      .transaction(async sql => {
        const { rows } = await sql.query<{ pid: number }>('select pg_backend_pid() as pid')
        await database.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid])
      })
      .catch((error: unknown) => error)
    expect(lost).toBeInstanceOf(DatabaseUnavailable)
    expect(lost).toHaveProperty('outcomeUnknown', true)
  })

  test('a missing socket, no listener, no answer and a slow statement are all DatabaseUnavailable', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => silent.once('listening', resolve))
    const address = silent.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const { connection } = made
    const targets = [
      { connection: { ...connection, host: '/nonexistent' } },
      { connection: { connectionString: 'postgres://berth@127.0.0.1:1/x' } },
      // bound: nobody answers
      { connection: { connectionString: `postgres://berth@127.0.0.1:${port}/x` }, connectTimeoutMs: 50 },
    ]
    for (const target of targets) {
      await using away = openDatabase({ ...target, log: silentLog })
      await expect(away.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
    }
    silent.close()
    await using slow = openDatabase({ connection, log: silentLog, statementTimeoutMs: 2_000 })
    await expect(slow.query('select pg_sleep(10)')).rejects.toBeInstanceOf(DatabaseUnavailable)
    await slow.transaction(sql => sql.query('select pg_sleep(2.5)'), { unbounded: true })
    await expect(slow.query('select 1')).resolves.toHaveProperty('rowCount', 1)
  })

  test('a server that freezes during a statement is given up together with its connection', async () => {
    await using victim = openDatabase({
      connection: made.connection,
      log: silentLog,
      connections: 1,
      statementTimeoutMs: 2_000,
    })
    const frozen = await backendPid(victim)
    process.kill(frozen, 'SIGSTOP')
    try {
      await expect(victim.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
      expect(await backendPid(victim)).not.toBe(frozen)
    } finally {
      process.kill(frozen, 'SIGCONT')
    }
  })

  test('a pool with every connection lent out refuses instead of waiting for ever', async () => {
    await using small = openDatabase({
      connection: made.connection,
      log: silentLog,
      connections: 1,
      // It bounds the connecting as well, which takes the server a new process.
      connectTimeoutMs: 2_000,
    })
    await small.transaction(async () => {
      await expect(small.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
    })
  })
})
