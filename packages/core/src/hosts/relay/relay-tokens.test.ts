import { randomBytes } from 'node:crypto'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { expect, test } from 'vitest'
import { RelayTokens } from './relay-tokens.ts'

const key = new MasterKey(randomBytes(32))
const at = (seconds: number, masterKey = key) => new RelayTokens(masterKey, { now: () => new Date(seconds * 1000) })

test('a token opens one sandbox for about a minute, and is made by the deployment alone', () => {
  const token = at(1_000).mint('a')
  const opens = {
    now: at(1_000).opens(token, 'a'),
    'by a clock that is late': at(950).opens(token, 'a'),
    'another sandbox': at(1_000).opens(token, 'b'),
    'too late': at(1_121).opens(token, 'a'),
    'from a clock that is far ahead': at(900).opens(token, 'a'),
    'with another key': at(1_000, new MasterKey(randomBytes(32))).opens(token, 'a'),
    'with another time': at(1_000).opens(token.replace('1060', '1061'), 'a'),
    'no token': at(1_000).opens('', 'a'),
  }
  expect(Object.entries(opens).filter(([, isOpen]) => isOpen)).toEqual([
    ['now', true],
    ['by a clock that is late', true],
  ])
})
