import { expect, test } from 'vitest'
import { type CheckSources, proposedChecks } from './proposed-checks.ts'

const proposed = (sources: Partial<CheckSources>) =>
  proposedChecks({ names: [], workflows: [], ...sources }).map(({ name, run }) => [name, run])

test.each<[what: string, sources: Partial<CheckSources>, expected: readonly (readonly string[])[]]>([
  ['nothing', {}, []],
  [
    'scripts of a package',
    {
      packageJson: JSON.stringify({
        scripts: {
          dev: 'vite',
          test: 'vitest',
          'test:watch': 'vitest -w',
          lint: 'biome',
          'lint:fix': 'biome',
          types: 'tsc',
        },
      }),
    },
    [
      ['test', 'npm test'],
      ['lint', 'npm run lint'],
      ['types', 'npm run types'],
    ],
  ],
  [
    'scripts by its own manager',
    { packageJson: '{"scripts":{"build":"x"}}', names: ['pnpm-lock.yaml'] },
    [['build', 'pnpm run build']],
  ],
  [
    'no script that says that there is none',
    { packageJson: '{"scripts":{"test":"echo \\"Error: no test specified\\""}}' },
    [],
  ],
  ['nothing of what is no package', { packageJson: '{"scripts":["test"]' }, []],
  [
    'targets of a Makefile',
    { makefile: 'X := 1\ntest-version := 2\n.PHONY: test\ntest: build\n\tgo test ./...\nrelease:\n\tx\nlint:\n' },
    [
      ['test', 'make test'],
      ['lint', 'make lint'],
    ],
  ],
  [
    'lines of a workflow that check',
    {
      workflows: [
        'jobs:\n  a:\n    steps:\n      - uses: x\n      - run: npm ci\n      - name: Test\n        run: npm run test # all\n      - run: |\n          cargo clippy -- -D warnings\n          cargo publish\n\n          echo test\n      - run: "pytest -q"\n      - run: make lint TOKEN=$GITHUB_TOKEN\n',
      ],
    },
    [
      ['npm run test', 'npm test'],
      ['cargo clippy -- -D warnings', 'cargo clippy -- -D warnings'],
      ['pytest -q', 'pytest -q'],
    ],
  ],
])('a repository proposes %s', (_, sources, expected) => {
  expect(proposed(sources)).toEqual(expected)
})

test('the same command is proposed once, and at most 16 are', () => {
  const packageJson = '{"scripts":{"test":"x"}}'
  expect(proposed({ packageJson, workflows: ['- run: npm test\n- run: npm run test'] })).toHaveLength(1)
  const makefile = Array.from({ length: 40 }, (_, at) => `test-${at}:\n`).join('')
  expect(proposed({ makefile })).toHaveLength(16)
})
