import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { OutputJudge } from './output-judge.ts'

/** Lists whose pairs are all compared, a hundred times: minutes of work that no pattern takes part in. */
const slow = {
  schema: JSON.stringify({ allOf: Array(100).fill({ uniqueItems: true }) }),
  answer: JSON.stringify(Array.from({ length: 8_000 }, (_, n) => [n])),
}
const integer = JSON.stringify({ type: 'integer' })

describe('the judge of outputs', () => {
  test('accepts and rejects, one after the other', async () => {
    await using judge = new OutputJudge()
    const verdicts = await Promise.all([
      judge.judge('a', integer, '7'),
      judge.judge('a', integer, '"7"'),
      judge.judge('a', integer, '8'),
    ])
    expect(verdicts).toEqual([
      { kind: 'accepted', json: '7' },
      { kind: 'rejected', issues: [{ path: [], message: 'must be integer' }] },
      { kind: 'accepted', json: '8' },
    ])
  })

  test('leaves the event loop free while it judges a pattern of a high power on a long answer', async () => {
    await using judge = new OutputJudge()
    await judge.judge('a', integer, '7')
    let judged = false
    const verdict = judge
      .judge('a', JSON.stringify({ pattern: '^a*a*a*$' }), JSON.stringify(`${'a'.repeat(60_000)}b`))
      .finally(() => {
        judged = true
      })
    let turns = 0
    for (; !judged; turns += 1) await turn()
    // A judgement on the loop would be over before its first turn.
    expect(turns).toBeGreaterThan(1)
    expect(await verdict).toMatchObject({ kind: 'rejected', issues: [{ message: 'must match pattern "^a*a*a*$"' }] })
  })

  test('rejects a value that takes more processor time than a judgement has, and judges the next', async () => {
    await using judge = new OutputJudge(300)
    expect(await judge.judge('a', slow.schema, slow.answer)).toEqual({
      kind: 'rejected',
      issues: [{ path: [], message: expect.stringContaining('takes too long to be checked') }],
    })
    expect(await judge.judge('a', integer, '7')).toMatchObject({ kind: 'accepted' })
  })

  test('judges an answer that waits while the thread fails at another', async () => {
    await using judge = new OutputJudge()
    await judge.judge('a', integer, '7')
    const [failed, next] = await Promise.allSettled([judge.judge('a', 'no JSON', '7'), judge.judge('a', integer, '8')])
    expect(failed).toMatchObject({ status: 'rejected', reason: { cause: expect.any(SyntaxError) } })
    expect(next).toEqual({ status: 'fulfilled', value: { kind: 'accepted', json: '8' } })
  })

  test('judges the answer of another organization before all that one has queued', async () => {
    await using judge = new OutputJudge(100)
    const judged: string[] = []
    const of = async (organizationId: string, schema: string, answer: string) => {
      await judge.judge(organizationId, schema, answer)
      judged.push(organizationId)
    }
    await Promise.all([
      of('slow', slow.schema, slow.answer),
      of('slow', slow.schema, slow.answer),
      of('slow', slow.schema, slow.answer),
      of('other', integer, '7'),
    ])
    expect(judged).toEqual(['slow', 'slow', 'other', 'slow'])
  })
})
