/** Starts the page in the document that the server sends (index.html). */
import { h, render } from 'preact'
import { App } from './app.ts'

render(h(App, null), document.getElementById('page')!)
