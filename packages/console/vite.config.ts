import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { precompress } from './build/precompress.ts'
import { pushWorker } from './build/push-worker.ts'
import { themeScript } from './build/theme-script.ts'

/** The service behind `npm run dev -w @berth/console`. */
const service = process.env.BERTH_CONSOLE_SERVICE ?? 'http://127.0.0.1:4100'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), themeScript(), pushWorker(), precompress()],
  resolve: {
    alias: {
      'decode-named-character-reference': join(import.meta.dirname, 'src/transcript/character-references.ts'),
    },
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { host: '127.0.0.1', proxy: { '/cloud': { target: service, changeOrigin: true } } },
})
