import { expect, test } from 'vitest'
import { welcome } from './welcome.ts'

const urls = {
  baseUrl: 'http://127.0.0.1:4100',
  consoleUrl: 'http://127.0.0.1:4100',
  commandDirectory: '/srv/berth/bin',
}

test('a development service says how to begin', () => {
  expect(welcome({ ...urls, developmentFile: '/srv/berth/.berth/dev.json' }, '/srv/berth')).toBe(
    `
  console  http://127.0.0.1:4100/sessions
  API      http://127.0.0.1:4100/v1/docs
  sign in  developer@localhost; the password and an API key are in .berth/dev.json
  command  export PATH="/srv/berth/bin:$PATH"
  try      berth run --runtime shell --follow 'echo hello'
  check    berth doctor
  read on  docs/quickstart.md

`,
  )
})

test('a service without a development tenant names no file', () => {
  expect(welcome({ ...urls, developmentFile: null }, '/srv')).not.toContain('dev.json')
})

test('a file elsewhere is named by its whole path', () => {
  expect(welcome({ ...urls, developmentFile: '/data/dev.json' }, '/srv')).toContain('/data/dev.json')
})

test('a command that the shell finds already is not announced', () => {
  const text = welcome({ ...urls, commandDirectory: null, developmentFile: '/data/dev.json' }, '/srv')
  expect(text).not.toContain('PATH')
  expect(text).toContain('berth run')
})
