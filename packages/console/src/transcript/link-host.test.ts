import { expect, it } from 'vitest'
import { linkHost, namesHost } from './link-host.ts'

it.each([
  ['https://docs.example:8443/page?q#h', 'docs.example:8443'],
  ['https://bank.example@evil.example/', 'evil.example'],
  ['https://bank.example\\@evil.example/', 'bank.example'],
  ['https://b\u00e4nk.example/', 'xn--bnk-qla.example'],
  ['mailto:ada@example.test?subject=Hello', 'ada@example.test'],
  ['//', '//'],
])('leads %s to %s', (url, host) => {
  expect(linkHost(url)).toBe(host)
})

it.each([
  ['docs.example', 'https://docs.example/page', true],
  ['https://docs.example', 'https://docs.example', true],
  ['https://docs.example/page', 'https://docs.example/page', true],
  ['https://docs.example?q', 'https://docs.example?q', true],
  ['ada@example.test', 'mailto:ada@example.test', true],
  ['mailto:ada@example.test', 'mailto:ada@example.test', true],
  ['the page', 'https://docs.example/page', false],
  ['https://bank.example', 'https://evil.example/b', false],
  ['https://docs.example/', 'https://docs.example/page', false],
  ['https://bank.example@evil.example/', 'https://bank.example@evil.example/', false],
  // The true host may stand in front of the pretended one, too.
  ['https://b.co.bank.example@b.co/', 'https://b.co.bank.example@b.co/', false],
  ['https://b\u00e4nk.example/', 'https://b\u00e4nk.example/', false],
])('knows whether the words %s say where %s leads', (text, url, expected) => {
  expect(namesHost(text, url)).toBe(expected)
})
