"""Colors and style sheet of the HTML that `markup` writes.

Colors are light-dark() pairs: the browser switches them with the theme, without flicker.
"""

INK = {
    "source": "light-dark(#0B6FB3, #7CC0EC)",
    "domain": "light-dark(#AD4B00, #F5A566)",
    "target": "light-dark(#8A5F00, #F5C96A)",
    "good": "light-dark(#00714F, #5BD6B0)",
    "changed": "light-dark(#96446F, #E8B5D1)",
    "neutral": "light-dark(#5C6873, #A9B4BE)",
}
FILL = {
    "source": "light-dark(#0B6FB3, #58AEE6)",
    "domain": "light-dark(#D55E00, #F08A3C)",
    "target": "light-dark(#E69F00, #F2B93B)",
    "good": "light-dark(#009E73, #2FC79A)",
    "changed": "light-dark(#CC79A7, #E0A0C4)",
    "neutral": "light-dark(#7A8793, #9AA6B1)",
}
HEAT_OPACITY = 0.5  # of the strongest color in a heat map: a higher one makes its text hard to read
STYLE = """<style>
.va-cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(13.5rem,1fr));gap:1rem;font-variant-numeric:tabular-nums}
.va-card{border:1px solid light-dark(#DDE3E9,#323D48);border-radius:.5rem;padding:.8rem .95rem;min-width:0}
.va-title{font-weight:600}
.va-note{font-size:.8rem;color:light-dark(#5C6873,#A9B4BE);margin:.1rem 0 .5rem;
 overflow-wrap:anywhere;min-height:2.4em}
.va-row{display:grid;grid-template-columns:minmax(0,1fr) 3.6rem 2.4rem;align-items:center;gap:.6rem;line-height:1.55;
 min-height:24px}
.va-row a.va-link{display:inline-block;min-height:24px;line-height:24px}
.va-token{font-family:"Source Code Pro",ui-monospace,monospace;font-size:.87rem;white-space:pre;overflow:hidden;
 text-overflow:ellipsis;min-width:0}
a.va-link,a.va-link:visited{color:inherit;text-decoration:none;cursor:pointer}
a.va-link:hover,a.va-link:focus-visible{color:light-dark(#0B6FB3,#7CC0EC);text-decoration:underline;
 text-underline-offset:.2em}
a.va-link:focus-visible{outline:2px solid light-dark(#0B6FB3,#58AEE6);outline-offset:1px;border-radius:.2rem}
[data-testid="stLayoutWrapper"]:has(>.st-key-lesson_bar){position:sticky;top:4rem;z-index:99;border-radius:.5rem;
 background:light-dark(#FFFFFF,#12181F)}
[class*="st-key-walk_"] [data-testid="stHorizontalBlock"]{flex-wrap:wrap}
[class*="st-key-walk_"] [data-testid="stColumn"]{min-width:9.5rem}
[data-testid="stMetric"] :is([data-testid="stMetricLabel"],[data-testid="stMetricValue"],[data-testid="stMetricDelta"]) *{
 white-space:normal;
 overflow:visible;text-overflow:clip}
.stMainBlockContainer[data-testid]{padding-top:4rem;padding-bottom:3rem}
.stMainBlockContainer[data-testid] h1{padding-top:0}
/* Names of jobs are shortened already: they wrap, and are not cut a second time. */
[data-testid="stSidebarUserContent"] [data-testid="stPageLink"] :is(span:has(>[data-testid="stMarkdownContainer"]),
 [data-testid="stMarkdownContainer"],p){white-space:normal;overflow:visible;overflow-wrap:anywhere}
/* Code: Streamlit's own colors have contrasts down to 2.9 on the background of a block. */
[data-testid="stCode"][data-testid] .token.token{color:light-dark(#1B2733,#E6EBF0)}
[data-testid="stCode"][data-testid] .token:is(.string,.char,.attr-value){color:light-dark(#00714F,#5BD6B0)}
[data-testid="stCode"][data-testid] .token:is(.number,.boolean,.constant,.regex){color:light-dark(#8A5F00,#F5C96A)}
[data-testid="stCode"][data-testid] .token:is(.keyword,.function,.class-name,.builtin,.tag){
 color:light-dark(#0A5F9A,#7CC0EC)}
[data-testid="stCode"][data-testid] .token:is(.comment,.prolog){color:light-dark(#5C6873,#A9B4BE)}
/* The buttons above a table are hidden until the mouse is over it, and Streamlit draws no focus. */
[data-testid="stElementToolbar"]:focus-within{opacity:1;visibility:visible;pointer-events:auto}
[data-testid="stElementToolbar"] button:focus-visible{outline:2px solid light-dark(#0B6FB3,#58AEE6);outline-offset:-2px}
:is([data-selected="true"],[aria-checked="true"],[aria-pressed="true"]) [data-has-shortcut] p{color:light-dark(#0A5F9A,#7CC0EC)}
[data-testid="stPageLink"] a:focus-visible,[data-testid="stSidebarNav"] a:focus-visible{
 outline:2px solid light-dark(#0B6FB3,#58AEE6);outline-offset:-2px}
a.va-link.va-name-link{font-family:inherit;font-size:inherit;white-space:normal;text-decoration:underline;
 text-decoration-color:light-dark(#A9B4BE,#5C6873);text-underline-offset:.2em}
a.va-link.va-shared{text-decoration:underline 2px light-dark(#009E73,#2FC79A);text-underline-offset:.2em}
.va-shared{font-weight:700;text-decoration:underline 2px light-dark(#009E73,#2FC79A);text-underline-offset:.2em}
.va-bar{position:relative;height:.5rem;border-radius:.25rem;background:light-dark(#EDF0F3,#2A343E);overflow:hidden}
.va-bar i{display:block;height:100%;border-radius:.25rem}
.va-tick{position:absolute;top:0;width:2px;height:100%;background:light-dark(#1F2933,#F2F5F7)}
.va-score{font-size:.8rem;text-align:right;color:light-dark(#5C6873,#A9B4BE)}
.va-scale{font-size:.8rem;color:light-dark(#5C6873,#A9B4BE);margin-top:-.6rem}
/* Four lists: short bars leave room for the words; two in a row where the window is narrow. */
.va-cards:has(>:nth-child(4)) .va-row{grid-template-columns:minmax(0,1fr) 2.4rem 2.4rem;gap:.5rem}
@media (max-width:1200px){
 .va-cards:has(>:nth-child(4)):not(:has(>:nth-child(5))){grid-template-columns:repeat(2,minmax(0,1fr))}
 [class*="st-key-va_stacked"]>div>[data-testid="stHorizontalBlock"]{flex-direction:column}
 [class*="st-key-va_stacked"]>div>div>[data-testid="stColumn"]{width:100%;flex:1 1 auto}}
/* Between the strip and the menu is room for the icon and button of a running page, always: a strip that
   moved aside would jump every second. */
.st-key-job_strip{position:fixed;top:.75rem;right:9.75rem;width:min(34rem,44vw);height:2.25rem;z-index:999991;
 pointer-events:none;align-items:center;flex-wrap:nowrap}
.st-key-job_strip a{pointer-events:auto}
.va-strip{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.1rem .8rem;font-size:.84rem;line-height:1.3;
 font-variant-numeric:tabular-nums}
.va-strip b{font-weight:600;color:light-dark(#0B6FB3,#7CC0EC)}
.va-strip span{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.va-strip .va-far{color:light-dark(#5C6873,#A9B4BE)}
.va-strip i{grid-column:1/-1;display:block;height:.22rem;border-radius:.11rem;overflow:hidden;
 background:light-dark(#EDF0F3,#2A343E)}
.va-strip u{display:block;height:100%;border-radius:.11rem;background:light-dark(#0B6FB3,#58AEE6)}
button[data-testid="stBaseButton-primary"],[data-testid="stMultiSelectTagsContainer"] span[data-tag],
 [data-testid="stMultiSelectTagsContainer"] div[data-tag]{background-color:light-dark(#0B6FB3,#1F74B5)}
[data-testid="stMultiSelectTagsContainer"] [data-tag]{height:auto;white-space:normal}
[data-testid="stMultiSelectTagsContainer"] [data-tag]>span[title]{white-space:normal;overflow-wrap:anywhere}
[data-testid="stSelectbox"] input{text-overflow:ellipsis}
[data-testid="stSelectboxVirtualDropdown"] [role="listbox"]>[role="option"]{height:auto}
[data-testid="stSelectboxVirtualDropdown"] [role="listbox"]>[role="option"] [data-item-hl]{height:auto;padding-block:.3rem;
 white-space:normal;overflow-wrap:anywhere}
.va-wide,[data-testid="stTable"]{overflow-x:auto}
[data-testid="stTable"] :is(th,td,p){overflow-wrap:normal;word-break:normal}
.va-table{width:100%;border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
.va-table th{font-weight:400;text-align:left;color:light-dark(#5C6873,#A9B4BE);padding:.35rem .5rem;white-space:nowrap}
.va-table td{padding:.38rem .5rem;border-top:1px solid light-dark(#DDE3E9,#323D48);white-space:nowrap}
.va-tall{max-height:26rem;overflow-y:auto}
.va-word-table td{white-space:normal}
.va-word-table td.va-figure{text-align:right;padding-right:1.5rem}
.va-chip-row{display:flex;flex-wrap:wrap;gap:.3rem;align-items:baseline}
.va-chip{max-width:16rem;padding:.08rem .4rem;border-radius:.35rem;border:1px solid light-dark(#DDE3E9,#323D48);
 background:light-dark(#F4F6F8,#1B232C)}
.va-lines{overflow-x:auto}
.va-line{display:grid;grid-template-columns:minmax(8rem,1fr) auto minmax(8rem,1fr);line-height:1.65;
 font-family:"Source Code Pro",ui-monospace,monospace;font-size:.82rem}
.va-line>*{white-space:pre;overflow:hidden;min-width:0;unicode-bidi:isolate}
.va-left{display:flex;justify-content:flex-end}
.va-left>bdi{flex:none}
.va-match{display:grid;justify-items:center;font-weight:700;color:light-dark(#AD4B00,#F5A566)}
.va-sizer{visibility:hidden;height:0}
.va-new{border:2px solid light-dark(#009E73,#2FC79A);background:light-dark(#E6F5F0,#12332A);font-weight:600}
.va-tokenizations{display:flex;flex-direction:column;gap:.75rem}
.va-name{font-size:.87rem;font-weight:600;margin-bottom:.2rem;unicode-bidi:isolate}
.va-name small{font-weight:400;color:light-dark(#5C6873,#A9B4BE);margin-left:.5rem}
.va-words{max-height:14rem;overflow-y:auto;display:flex;flex-wrap:wrap;gap:.3rem .45rem;direction:ltr}
.va-word{display:inline-flex;max-width:100%;flex-wrap:wrap}
.va-word .va-chip{unicode-bidi:isolate;max-width:none;overflow-wrap:anywhere;white-space:pre-wrap}
.va-word .va-chip:not(:last-child){border-top-right-radius:0;border-bottom-right-radius:0}
.va-word .va-chip:not(:first-child){border-top-left-radius:0;border-bottom-left-radius:0;border-left-style:dashed;
 margin-left:-1px}
.va-more{color:light-dark(#5C6873,#A9B4BE)}
.va-word small{font-size:.72rem;margin-left:.35rem;color:light-dark(#5C6873,#A9B4BE)}
.va-note a.va-link{font-size:.8rem;text-decoration:underline dotted;text-underline-offset:.2em}
.va-heat{border-collapse:separate;border-spacing:3px;width:100%;table-layout:fixed;font-variant-numeric:tabular-nums}
.va-heat th{font-weight:400;font-size:.82rem;color:light-dark(#5C6873,#A9B4BE);padding:.2rem .5rem;overflow-wrap:anywhere;
 unicode-bidi:isolate}
.va-heat thead th:first-child{width:30%}
.va-heat tbody th{text-align:right}
.va-heat td{text-align:center;padding:.7rem .3rem;border-radius:.35rem;background:light-dark(#F4F6F8,#1B232C)}
.va-heat td.va-chosen{outline:2px solid light-dark(#0B6FB3,#58AEE6)}
.va-heat small{display:block;font-size:.78rem}
.va-heat a.va-link:hover,.va-heat a.va-link:focus-visible{color:inherit}
.va-heat.va-many{min-width:46rem;font-size:.86rem}
.va-heat.va-many thead th{writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;max-height:11rem;padding:.3rem 0}
.va-heat.va-many thead th:first-child{width:15rem}
.va-heat.va-many td{padding:.25rem 0}
.va-marked-texts{display:flex;flex-direction:column;gap:.55rem}
.va-text{line-height:1.95;overflow-wrap:anywhere;unicode-bidi:isolate}
.va-text mark{background:none;color:inherit;font-weight:600;padding-bottom:.05rem;
 border-bottom:3px solid light-dark(#0B6FB3,#58AEE6)}
.va-text small{font-weight:400;margin-left:.3rem;color:light-dark(#0B6FB3,#7CC0EC)}
.va-main{border-left:3px solid light-dark(#0B6FB3,#58AEE6);padding-left:.7rem;margin-left:-.85rem}
.va-study th{vertical-align:top}
.va-study tbody th{color:inherit;border-top:1px solid light-dark(#DDE3E9,#323D48);max-width:16rem;overflow:hidden;
 text-overflow:ellipsis}
.va-seeds{display:flex;flex-wrap:wrap;gap:.2rem;min-width:6rem}
.va-seed,a.va-seed:visited{display:inline-block;width:1.5rem;height:1.5rem;line-height:1.5rem;text-align:center;
 border-radius:.3rem;text-decoration:none;font-size:.85rem;color:light-dark(#5C6873,#A9B4BE);
 outline:1px dashed light-dark(#A9B4BE,#5C6873);outline-offset:-1px}
a.va-seed{cursor:pointer}
a.va-seed:hover,a.va-seed:focus-visible{outline:2px solid light-dark(#0B6FB3,#58AEE6)}
.va-seed-done,a.va-seed-done:visited{color:light-dark(#00714F,#5BD6B0);background:light-dark(#E6F5F0,#12332A);outline:none}
.va-seed-collapsed,a.va-seed-collapsed:visited{color:light-dark(#8A5F00,#F5C96A);background:light-dark(#FBF3DF,#33290F);
 outline:none}
.va-seed-running,a.va-seed-running:visited{color:light-dark(#0B6FB3,#7CC0EC);background:light-dark(#E8F1F8,#1C2F40);
 outline:none}
.va-seed-failed,a.va-seed-failed:visited{color:light-dark(#96446F,#E8B5D1);background:light-dark(#F9EFF4,#33232D);
 outline:none}
.va-seed-legend{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;font-size:.87rem;align-items:center;margin-top:.5rem}
.va-seed-legend span.va-seed{margin-right:.35rem}
.va-published td,.va-published thead th{text-align:right}
.va-published tbody th{color:inherit;border-top:1px solid light-dark(#DDE3E9,#323D48);white-space:normal;min-width:9rem}
.va-published thead th{white-space:normal;vertical-align:bottom;min-width:4.5rem}
.va-published td b{font-weight:700}
.va-published td u{text-underline-offset:.2em}
.va-published td small{display:block;font-size:.78rem;color:light-dark(#5C6873,#A9B4BE);white-space:normal}
.va-published td.va-empty{color:light-dark(#5C6873,#A9B4BE)}
.va-unknown{border:2px dotted light-dark(#96446F,#E0A0C4);background:light-dark(#F9EFF4,#33232D);
 color:light-dark(#96446F,#E8B5D1)}
</style>"""
