import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { BodyClaim } from './body-budget.ts'
import { readOctets } from './octet-stream.ts'

const claim: BodyClaim = { grow: () => true, arrive: () => true, arrived: () => undefined, release: () => undefined }

/** Reads a body of three chunks, of which the last comes late; `during` is called while the first is held. */
async function read(during: (late: () => void) => void, before: (late: () => void) => void): Promise<number> {
  const body = new IncomingMessage(new Socket())
  let late: () => void = () => undefined
  const watch = (callback: () => void) => {
    late = callback
    return { [Symbol.dispose]: () => undefined }
  }
  body.push(Buffer.alloc(10))
  let received = 0
  for await (const chunk of readOctets(body, 100, claim, watch)) {
    received += chunk.length
    if (received === 10) {
      during(late)
      setImmediate(() => {
        before(late)
        body.push(Buffer.alloc(10))
        body.push(null)
      })
    }
  }
  return received
}

const nothing = () => undefined

test('a body is read whole, however long its handler holds a piece of it', async () => {
  expect(await read(late => late(), nothing)).toBe(20)
})

test('a body whose client lets the service wait is refused', async () => {
  await expect(read(nothing, late => late())).rejects.toMatchObject({ code: 'request_timeout' })
})
