import { readWebhookUrl, webhookRules } from '@berth/core/webhooks/webhook-url.ts'
import { expect, it } from 'vitest'
import { dialRule } from './dial-rule.ts'
import { inRanges } from './public-address.ts'

const refused = inRanges(['45.90.0.0/16'])
const own = () => new Set(['93.184.216.99', '2606:2800:220:1::99'])

it('leads to public addresses that nobody refuses and that are of another machine', () => {
  const judged = [
    '93.184.216.34',
    '2606:2800:220:1::34',
    '93.184.216.99',
    '2606:2800:220:1::99',
    '45.90.1.1',
    '10.0.0.1',
  ]
  expect(judged.filter(dialRule(refused, own))).toEqual(['93.184.216.34', '2606:2800:220:1::34'])
})

it('asks for the addresses of this machine each time, since it may get more', () => {
  const addresses = new Set<string>()
  const mayDial = dialRule(refused, () => addresses)
  expect(mayDial('93.184.216.1')).toBe(true)
  addresses.add('93.184.216.1')
  expect(mayDial('93.184.216.1')).toBe(false)
})

it('keeps webhooks from this machine, however its address is written', () => {
  const rules = webhookRules({ ports: [443], allow: [] }, refused, own)
  const urls = [
    'https://93.184.216.99/',
    'https://1572395107/',
    'https://[2606:2800:220:1:0:0:0:99]/',
    'https://93.184.216.34/',
  ]
  expect(urls.filter(url => readWebhookUrl(url, rules) !== null)).toEqual(['https://93.184.216.34/'])
})
