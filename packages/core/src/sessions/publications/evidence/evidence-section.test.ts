import type { CheckResult } from '@berth/contract'
import { describe, expect, it } from 'vitest'
import type { Evidence } from './evidence.ts'
import { evidenceSection } from './evidence-section.ts'
import { inlineCode } from './plain-text.ts'

const check = (name: string, more: Partial<CheckResult> = {}): CheckResult => ({
  name,
  required: true,
  state: 'passed',
  exitCode: 0,
  durationMs: 3200,
  ...more,
})

const nothing: Evidence = {
  verification: null,
  signals: [],
  requester: null,
  decisions: [],
  models: [],
  links: { review: 'https://berth.test/sessions/1/review', statement: null },
}

const verified = (checks: readonly CheckResult[], state: 'passed' | 'failed' = 'passed'): Evidence => ({
  ...nothing,
  verification: { state, tree: 'ab'.repeat(20), environment: { name: 'CI', revision: 2 }, checks, removed: [] },
  links: { ...nothing.links, statement: 'https://berth.test/statement' },
})

describe('the section of a pull request', () => {
  it('says what was checked where, what to look at, who decided, and what it cost', () => {
    const evidence: Evidence = {
      ...verified(
        [
          check('lint'),
          check('test', { state: 'failed', exitCode: 1, durationMs: 95_000 }),
          check('slow', { state: 'failed', exitCode: null, timedOut: true, required: false }),
          check('docs', { state: 'skipped' }),
        ],
        'failed',
      ),
      signals: [
        {
          kind: 'test_skipped',
          path: 'src/a.test.ts',
          count: 3,
          lines: [
            { side: 'after', number: 12 },
            { side: 'after', number: 14 },
          ],
          digest: '',
        },
        { kind: 'ci_changed', path: '.github/workflows/ci.yml', count: 1, lines: [], digest: '' },
      ],
      requester: 'Ada',
      decisions: [
        { by: 'Ada', allowed: false, tool: 'Fetch', times: 1 },
        { by: 'Bo', allowed: true, tool: null, times: 2 },
      ],
      models: [
        { provider: 'p', model: 'big', costUsd: 0.9, requests: 1, unknown: 0 },
        { provider: 'p', model: 'small', costUsd: 0.3, requests: 9, unknown: 1 },
      ],
    }
    expect(evidenceSection(evidence, null).split('\n')).toEqual([
      '---',
      '',
      '**Not verified by Berth**: 1 of 3 checks passed on tree `abababababab`, in a fresh sandbox of `CI`, revision 2.',
      '- `test`: failed (exit 1, 2 min)',
      '- `slow`: failed (its time was over, 3 s), not required',
      '- `lint`: passed (exit 0, 3 s)',
      '- `docs`: not due, as its paths are untouched',
      '- Signals: test skipped `src/a.test.ts:12` and 2 more, CI or hook changed `.github/workflows/ci.yml`',
      '- Published by `Ada`; `Ada` denied `Fetch`, `Bo` approved the plan 2 times',
      '- Models: `big` 75 %, `small` 25 %; $1.20 or more',
      '- [Review and log](https://berth.test/sessions/1/review) · [Signed statement](https://berth.test/statement)',
    ])
  })

  it('says that nothing was checked', () => {
    expect(evidenceSection(nothing, null).split('\n').slice(2)).toEqual([
      '**Not verified by Berth**: no checks have been run on this revision.',
      '- Signals: none',
      '- Published by an integration; the agent asked nobody for approval',
      '- Models: none',
      '- [Review and log](https://berth.test/sessions/1/review)',
    ])
  })

  it('names required checks that are not what they were when the work began', () => {
    const of = verified([check('lint')])
    const removed = ['test', 'b`', 'c', 'd', 'e']
    const verification = of.verification === null ? null : { ...of.verification, removed }
    expect(evidenceSection({ ...of, verification }, '{verification}')).toMatch(
      /revision 2\. Required checks that were changed or removed since the work began: `test`, `b’`, `c`, `d`, 1 more\.$/,
    )
  })

  it('has at most 16 lines, and no check that failed is left out for one that passed', () => {
    const many = Array.from({ length: 16 }, (_, at) => check(`c${at}`, at === 15 ? { state: 'failed' } : {}))
    const lines = evidenceSection(verified(many, 'failed'), null).split('\n')
    expect([lines.length, lines[3], lines[11]]).toEqual([16, '- `c15`: failed (exit 0, 3 s)', '- 8 more: 8 passed'])
    const long = evidenceSection(nothing, 'a\n'.repeat(40)).split('\n')
    expect([long.length, long.at(-1)]).toEqual([16, '…'])
  })

  it('follows the template of the organization, in which no value is a template', () => {
    const of = verified([check('{links}')])
    const template = 'Checked by us: {checks}\n{signals} {nothing}'
    expect(evidenceSection(of, template)).toBe(
      'Checked by us: - `{links}`: passed (exit 0, 3 s)\n- Signals: none {nothing}',
    )
    expect(evidenceSection(of, '')).toBe('')
    expect(evidenceSection(nothing, '{checks}\n{links}')).toBe(
      '- [Review and log](https://berth.test/sessions/1/review)',
    )
  })

  it.each([
    ['@everyone [a](javascript:b) <b>', '`@everyone [a](javascript:b) <b>`'],
    ['a`b``\n\n# c', '`a’b’’ # c`'],
    ['a\u202eb\u0000c\u2028d', '`a b c d`'],
    ['<!-- /berth:evidence --> <!--', '`· /berth:evidence · ·`'],
    ['', '`?`'],
    ['\ud800'.repeat(2), '`\ufffd\ufffd`'],
    ['😀'.repeat(90), `\`${'😀'.repeat(79)}…\``],
  ])('shows %j as one piece of inline code', (text, shown) => {
    expect(inlineCode(text)).toBe(shown)
  })
})
