import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { merged } from './merged.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Yields chunks, and counts those that the consumer has let go. */
async function* counting(count: number, freed: { count: number }, registry: FinalizationRegistry<unknown>) {
  for (let n = 0; n < count; n += 1) {
    const chunk = { n, bytes: new Uint8Array(64 * 1024) }
    registry.register(chunk, freed)
    yield chunk
  }
}

async function* silent(stopped: AbortSignal): AsyncGenerator<never> {
  await new Promise(resolve => stopped.addEventListener('abort', resolve))
}

describe('merged sources', () => {
  it('yield everything, each in its own order', async () => {
    async function* from(...values: readonly string[]) {
      yield* values
    }
    const seen: string[] = []
    for await (const value of merged([from('a1', 'a2', 'a3'), from('b1', 'b2'), from()], () => {})) seen.push(value)
    expect(seen.filter(value => value.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
    expect(seen.filter(value => value.startsWith('b'))).toEqual(['b1', 'b2'])
  })

  it('keep nothing of what was taken while one of them says nothing', async () => {
    const freed = { count: 0 }
    const registry = new FinalizationRegistry(() => {
      freed.count += 1
    })
    const stop = new AbortController()
    const all = merged([silent(stop.signal), counting(200, freed, registry)], () => stop.abort())
    for (let taken = 0; taken < 200; taken += 1) await all.next()
    for (let tries = 0; tries < 200 && freed.count < 150; tries += 1) {
      collectGarbage()
      await new Promise(resolve => setImmediate(resolve))
    }
    await all.return(undefined)
    expect(freed.count).toBeGreaterThanOrEqual(150)
  })

  it('end with the fault of one, and stop the others', async () => {
    const stop = new AbortController()
    async function* failing() {
      yield 1
      throw new Error('broken')
    }
    const all = merged([silent(stop.signal), failing()], () => stop.abort())
    expect((await all.next()).value).toBe(1)
    await expect(all.next()).rejects.toThrow('broken')
    expect(stop.signal.aborted).toBe(true)
  })
})
