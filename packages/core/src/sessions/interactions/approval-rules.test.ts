import { commandWords } from '@berth/platform/kit/command-words.ts'
import { parseApprovalRules } from '@berth/platform/settings/approval-rules.ts'
import { describe, expect, test } from 'vitest'
import { isAllowed } from './approval-rules.ts'

const own = '00000000-0000-4000-8000-000000000001'
const allows = (rule: object, approval: object, runtime = 'codex') => {
  const rules = parseApprovalRules(JSON.stringify({ allow: [rule] }), 'rules.json')
  return isAllowed(rules, {
    organizationId: own,
    runtime,
    approval: { toolName: 'bash', kind: 'execute', ...approval },
  })
}

describe('a rule', () => {
  test('covers an approval that meets one entry of each of its lists', () => {
    const rule = { organizations: [own], runtimes: ['codex', 'goose'], tools: ['bash'], kinds: ['execute'] }
    expect(allows(rule, {})).toBe(true)
    expect(allows({ ...rule, organizations: [own.replace('1', '2')] }, {})).toBe(false)
    expect(allows(rule, {}, 'native')).toBe(false)
    expect(allows(rule, { toolName: 'Bash' })).toBe(false)
    expect(allows(rule, { kind: undefined })).toBe(false)
  })

  test('covers an approval that leaves the sandbox only if it names that confinement', () => {
    const rule = { kinds: ['fetch'] }
    expect(allows(rule, { kind: 'fetch', confinement: 'network' })).toBe(false)
    expect(allows({ ...rule, confinements: ['network'] }, { kind: 'fetch', confinement: 'network' })).toBe(true)
    expect(allows({ ...rule, confinements: ['network'] }, { kind: 'fetch', confinement: 'sandbox' })).toBe(false)
  })

  test.each([
    ['registry.example.org', 'registry.example.org:443', true],
    ['registry.example.org', 'registry.example.org', true],
    ['registry.example.org', 'a.registry.example.org:443', false],
    ['*.example.org', 'a.registry.example.org:443', true],
    ['*.example.org', 'example.org:443', false],
    ['*.example.org', 'evilexample.org:443', false],
    ['*.example.org', 'https://a.example.org/', false],
    ['*.example.org', 'b.example.com:443 a.example.org', false],
    ['*.example.org', undefined, false],
  ])('for the host %j covers a connection to %j: %j', (pattern, destination, expected) => {
    const rule = { confinements: ['network'], hosts: [pattern] }
    const approval = { toolName: 'network', kind: 'fetch', confinement: 'network', destination }
    expect(allows(rule, approval)).toBe(expected)
    expect(allows(rule, { ...approval, confinement: 'sandbox' })).toBe(false)
  })

  test.each([
    [{ hosts: ['a.example.org'] }, 'names hosts, so its confinements must be network'],
    [{ hosts: ['A.example.org'], confinements: ['network'] }, 'hosts'],
    [{ hosts: [], confinements: ['network'] }, 'hosts'],
    [{ confinements: ['network'] }, 'must name tools, kinds, commands, paths or hosts'],
  ])('%j is refused when it is read', (rule, fault) => {
    expect(() => allows(rule, {})).toThrow(fault)
  })

  test.each([
    ['git status', 'git status', true],
    ['git status', ' git  status ', true],
    ['git status', 'git status -s', false],
    ['git status', 'git', false],
    ['git status', 'git "status"', true],
    ['git log *', 'git log', true],
    ['git log *', "git log --format='%H; x' -- src/a.ts", true],
    ['git log *', 'git logs', false],
    ['git log *', 'git -c core.pager=x log', false],
    ['git log *', 'A=1 git log', false],
    ['git log *', 'git log\nmake', false],
    ['git log *', 'git log | sh', false],
    ['git log *', 'git log && make', false],
    ['git log *', 'git log "$(make)"', false],
    ['git log *', 'git log `make`', false],
    ['git log *', 'git log > /etc/x', false],
    ['git log *', "git log 'a", false],
    ['git log *', ['git', 'log', '; make'], true],
    ['git log *', ['bash', '-lc', 'git log'], true],
    ['git log *', ['/bin/sh', '-c', 'git log; make'], false],
    ['git log *', ['bash', '-lc', 'git log', 'x'], false],
    ['git log *', 7, false],
    ['git log *', undefined, false],
  ])('for the command %j covers %j: %j', (pattern, command, expected) => {
    expect(allows({ commands: [pattern] }, { input: { command } })).toBe(expected)
  })

  test.each([
    [{ path: '/workspace/a.ts' }, true],
    [{ file_path: '/workspace' }, true],
    [{ filePath: '/workspaces/a.ts' }, false],
    [{ path: '/workspace/../etc/passwd' }, false],
    [{ path: 'a.ts' }, false],
    [{ path: '/workspace/a.ts', locations: [{ path: '/etc/passwd' }] }, false],
    [{ content: [{ type: 'diff', path: '/workspace/a.ts' }, null] }, true],
    [{ path: ['/workspace/a.ts'] }, false],
    [{}, false],
  ])('for paths covers %j: %j', (input, expected) => {
    expect(allows({ kinds: ['edit'], paths: ['/workspace/**'] }, { kind: 'edit', input })).toBe(expected)
  })

  test('reads a long command in linear time', () => {
    expect(commandWords(`${"a'b'".repeat(50_000)};`)).toBeNull()
    expect(commandWords('a '.repeat(100_000))).toHaveLength(100_000)
  })
})
