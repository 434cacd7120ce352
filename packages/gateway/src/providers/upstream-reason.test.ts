import { knownSecrets } from '@berth/platform/kit/redactor.ts'
import { expect, test } from 'vitest'
import { upstreamReason } from './upstream-reason.ts'

test.each([
  'Incorrect API key provided: sk-proj-abcdefgh1234',
  'Incorrect API key provided: sk-pr****1234',
  'invalid x-api-key: Bearer 0123456789',
  'no such key: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b',
  `refused svc_run_${'k'.repeat(43)}`,
])('masks the credential in %j', text => {
  expect(upstreamReason(text)).toMatch(/^[a-z -]+:? ?(provided: )?\[secret\]$/i)
})

test.each([
  'No tool output found for function call call_tZ1x9QK3b7wYc8Rk2LmP0vNq.',
  'messages.1.content.0: unexpected `tool_use_id` found: toolu_01A09q90qw90lq917835lq9',
  "The model 'claude-3-5-sonnet-20241022' does not take response_format.json_schema.strict",
  'This model allows 128000 tokens, and you asked for 130000',
])('keeps the whole of %j', text => {
  expect(upstreamReason(text)).toBe(text)
})

test("masks by form, so that an echo of a guess confirms none of this process's keys", () => {
  const secrets = ['CANARYPR-our-provider-word-3141592653', 'correct horse battery', 'Hunter2-is-the-password']
  using _ = knownSecrets.add(...secrets)
  for (const secret of secrets) {
    for (let at = 1; at <= secret.length; at += 1) {
      for (const guess of [secret.slice(0, at), secret.slice(-at)]) {
        for (const text of [guess, `unknown value ${guess}`]) expect(upstreamReason(text)).toBe(text)
      }
    }
  }
})
