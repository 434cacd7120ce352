import type { ExcludeRule } from '@berth/supervisor/tree'

/**
 * Left out of every checkpoint: directories of which the tool that fills them says that they may go at any time, and
 * that it fills again by itself, from the tree alone. Dependencies (`node_modules`, `.venv`) stay in: a workspace whose
 * tests ran before a restore runs them after it, without a network.
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
 * Left out besides, and only where the checkpoint would be over its caps and so lost whole: what one command of the
 * project's own makes again. Each rule asks for the mark of the tool, so that a directory of work by that name stays.
 */
export const rebuildableRules: readonly ExcludeRule[] = [
  { names: ['node_modules'], beside: 'package.json' },
  { names: ['.venv'], holding: 'pyvenv.cfg' },
  { names: ['venv'], holding: 'pyvenv.cfg' },
  { names: ['target'], holding: 'CACHEDIR.TAG' },
  { names: ['.gradle'], beside: 'build.gradle' },
  { names: ['.gradle'], beside: 'build.gradle.kts' },
]
