import type { ExcludeRule } from '@berth/supervisor/tree'

/**
 * Left out of every checkpoint: caches whose tool declares that they may vanish at any time, and that it refills from
 * the tree alone. Dependencies (`node_modules`, `.venv`) stay in, so tests that ran before a restore also run after it,
 * without a network.
 */
export const cacheRules: readonly ExcludeRule[] = [
  { names: ['__pycache__'] },
  { names: ['.pytest_cache'] },
  { names: ['.mypy_cache'] },
  { names: ['.ruff_cache'] },
  { names: ['node_modules', '.cache'] },
  { names: ['node_modules', '.vite'] },
  { names: ['.next', 'cache'] },
  { names: ['.parcel-cache'] },
]

/**
 * Left out in addition if the checkpoint would otherwise exceed its caps and be lost: directories that one command of
 * the project rebuilds. Each rule requires the tool's own mark, so a directory of work with the same name stays.
 */
export const rebuildableRules: readonly ExcludeRule[] = [
  { names: ['node_modules'], sibling: 'package.json' },
  { names: ['.venv'], holding: 'pyvenv.cfg' },
  { names: ['venv'], holding: 'pyvenv.cfg' },
  { names: ['target'], holding: 'CACHEDIR.TAG' },
  { names: ['.gradle'], sibling: 'build.gradle' },
  { names: ['.gradle'], sibling: 'build.gradle.kts' },
]
