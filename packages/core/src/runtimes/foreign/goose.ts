import { type ForeignRuntime, gatewayOriginInside, placeholderKey } from './foreign-runtime.ts'

/** Goose. No package registry has it, so an operator installs the program. Speaks Chat Completions. */
export const goose: ForeignRuntime = {
  id: 'goose',
  name: 'Goose',
  version: 'of the program',
  install: { kind: 'program', path: '/usr/local/bin/goose' },
  command: program => [program, 'acp'],
  env: { GOOSE_DISABLE_KEYRING: '1', OPENAI_API_KEY: placeholderKey, OPENAI_HOST: gatewayOriginInside },
  modelEnv: ({ id }) => ({ GOOSE_PROVIDER: 'openai', GOOSE_MODEL: id }),
  state: ['.local/share/goose/sessions'],
}
