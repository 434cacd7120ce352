import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { isTimely, verifySignature } from './hook-scheme.ts'

const at = new Date(1531420618 * 1000)

it('verifies the examples that GitHub and Slack publish', () => {
  const github = {
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    bytes: Buffer.from('Hello, World!'),
  }
  expect(verifySignature('github', ["It's a Secret to Everybody"], github, at)).not.toBeNull()
  expect(verifySignature('github', ['another'], github, at)).toBeNull()
  const slack = {
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    bytes: Buffer.from(
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
    ),
  }
  const secrets = ['before', '8f742231b10e8888abcd99yyyzzz85a5']
  expect(verifySignature('slack', secrets, slack, at)).not.toBeNull()
  for (const seconds of [-301, 301]) {
    expect(verifySignature('slack', secrets, slack, new Date(at.getTime() + seconds * 1000))).toBeNull()
  }
})

it('verifies what Linear signs, with the time in the body', () => {
  const body = { action: 'create', webhookTimestamp: at.getTime() - 299_000 }
  const bytes = Buffer.from(JSON.stringify(body))
  const headers = { 'linear-signature': createHmac('sha256', 'lin_wh_secret').update(bytes).digest('hex') }
  expect(verifySignature('linear', ['lin_wh_secret'], { headers, bytes }, at)).not.toBeNull()
  expect(isTimely('linear', body, at)).toBe(true)
  expect(isTimely('linear', { ...body, webhookTimestamp: at.getTime() - 301_000 }, at)).toBe(false)
  expect(isTimely('linear', { action: 'create' }, at)).toBe(false)
})

it('refuses signatures of another form, sent twice, or for no secret', () => {
  const bytes = Buffer.from('{}')
  const digest = createHmac('sha256', 's').update('1531420618.{}').digest('hex')
  const header = `t=1531420618,v1=${digest}`
  expect(verifySignature('svc', ['s'], { headers: { 'svc-signature': header }, bytes }, at)).not.toBeNull()
  for (const value of [digest, `${header},v1=${digest}`, header.toUpperCase(), '', [header, header]]) {
    expect(verifySignature('svc', ['s'], { headers: { 'svc-signature': value }, bytes }, at)).toBeNull()
  }
  expect(verifySignature('svc', [], { headers: { 'svc-signature': header }, bytes }, at)).toBeNull()
})
